"""Runs the official SDK's own checks of a session store against ours.

sys.argv[1] is the program; each store is a process of its own with a run folder below sys.argv[2].
"""

import asyncio
import json
import sys
import tempfile

import claude_agent_sdk as sdk
from claude_agent_sdk.testing import run_session_store_conformance


class FlowerStore(sdk.SessionStore):
    """The SDK's interface on top of `flower sessions serve`."""

    @classmethod
    async def start(cls, program, folder):
        store = cls()
        store.process = await asyncio.create_subprocess_exec(
            program, "sessions", "serve", "-r", folder,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 30)
        store.lock = asyncio.Lock()
        store.asked = 0
        return store

    async def ask(self, method, **params):
        async with self.lock:
            self.asked += 1
            request = {"id": self.asked, "method": method, "params": params}
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            await self.process.stdin.drain()
            answer = json.loads(await self.process.stdout.readline())
        assert answer["id"] == self.asked, answer
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    async def append(self, key, entries):
        await self.ask("append", key=key, entries=entries)

    async def load(self, key):
        return await self.ask("load", key=key)

    async def list_sessions(self, project_key):
        return await self.ask("list_sessions", project_key=project_key)

    async def list_session_summaries(self, project_key):
        return await self.ask("list_session_summaries", project_key=project_key)

    async def delete(self, key):
        await self.ask("delete", key=key)

    async def list_subkeys(self, key):
        return await self.ask("list_subkeys", key=key)

    async def end(self):
        self.process.stdin.close()
        assert await self.process.wait() == 0


def same(got, want):
    if got != want:
        raise SystemExit(f"got {got!r}, want {want!r}")


def said(text, **more):
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


# Each line is one session; its summary must be what the SDK itself folds.
SESSIONS = [
    [said("hello", uuid="1", timestamp="2025-11-02T10:00:01.500Z", cwd="", gitBranch="a"),
     said("more", uuid="2", timestamp="2025-11-02T10:00:02+02:00", cwd="/w", gitBranch="b")],
    [said("<command-name>/init</command-name>"), said("<command-name>/other</command-name>"),
     said("<local-command-stdout>x"), said("<tick> x"), said("<goal>x"),
     said("[Request interrupted by user for tool use]"), said("[Request interrupted by user"),
     said("never")],
    [said("  \n\t\n "), said([{"type": "text", "text": "<ide_selection>a\nb</ide_selection>"},
                              {"type": "text", "text": "x" * 199 + " yz"}])],
    [said("meta", isMeta=True), said("compact", isCompactSummary=True), said("no", isMeta="yes")],
    [said([{"type": "tool_result", "tool_use_id": "t", "content": "x"}, {"type": "text", "text": "y"}]),
     {"type": "assistant", "message": {"role": "assistant", "content": "not a prompt"}}],
    [{"type": "x", "isSidechain": True, "customTitle": "t", "aiTitle": "u", "lastPrompt": "v", "summary": "w"},
     {"type": "x", "isSidechain": False, "customTitle": "", "aiTitle": 5, "summary": None}],
    [{"type": "tag", "tag": "a"}, {"type": "tag", "tag": "b"}],
    [{"type": "tag", "tag": "a"}, {"type": "tag", "tag": ""}],
    [{"type": "tag", "tag": "a"}, {"type": "tag"}, {"type": "x", "tag": "c"}],
    [{"type": "x", "timestamp": "yesterday"}, {"type": "x", "timestamp": 5},
     {"type": "x", "timestamp": "2025-11-02T10:00:01.123456Z"}],
    [said("emoji \U0001f600 " * 40), said(None), said({"type": "text", "text": "no list"})],
    [said("é" * 201), {"type": "user", "message": "no object"}, {"type": "user"}],
]

# What must come back equal.
ODD = [
    {"type": "x", "uuid": "n1", "half": "\ud83d", "nul": "\x00", "lines": "\u2028\n\r"},
    {"type": "x", "uuid": "n2", "long": 12345678901234567890123, "f": 1e300, "one": 1.0, "no": None},
    {"type": "x", "uuid": "n3", "": {"": [[], {}, [{}]]}, "é\ud83d": "key"},
    {"type": "x", "uuid": "n4", "large": "x\n" * 6_000_000},
]


async def folds(store):
    for number, entries in enumerate(SESSIONS):
        key = {"project_key": "-fold", "session_id": f"s{number}"}
        for entry in entries:
            await store.append(key, [entry])
    summaries = {s["session_id"]: s for s in await store.list_session_summaries("-fold")}
    for number, entries in enumerate(SESSIONS):
        key = {"project_key": "-fold", "session_id": f"s{number}"}
        want = sdk.fold_session_summary(None, key, entries)
        same(summaries[key["session_id"]]["data"], want["data"])


async def helpers(store):
    """What the SDK does with a store, beyond the store itself."""
    folder, one = "/work/demo", "11111111-1111-4111-8111-111111111111"
    key = {"project_key": sdk.project_key_for_directory(folder), "session_id": one}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "done"}]}
    await store.append(key, [
        said("do it", uuid="a", parentUuid=None, sessionId=one, timestamp="2025-11-02T10:00:01Z"),
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": one, "message": reply,
         "timestamp": "2025-11-02T10:00:02Z"}])
    await store.append({**key, "subpath": "subagents/agent-7"}, [said("part", uuid="c", sessionId=one)])
    await sdk.rename_session_via_store(store, one, "a title", directory=folder)
    await sdk.tag_session_via_store(store, one, "a tag", directory=folder)
    [listed] = await sdk.list_sessions_from_store(store, directory=folder)
    same((listed.session_id, listed.custom_title, listed.tag, listed.first_prompt),
         (one, "a title", "a tag", "do it"))
    messages = await sdk.get_session_messages_from_store(store, one, directory=folder)
    same([message.type for message in messages], ["user", "assistant"])
    same(await sdk.list_subagents_from_store(store, one, directory=folder), ["7"])
    fork = await sdk.fork_session_via_store(store, one, directory=folder)
    same(len(await sdk.list_sessions_from_store(store, directory=folder)), 2)
    await sdk.delete_session_via_store(store, one, directory=folder)
    same(await store.load(key), None)
    same(await store.list_subkeys(key), [])
    same([s["session_id"] for s in await store.list_sessions(key["project_key"])], [fork.session_id])


async def main(program, place):
    stores = []

    async def new():
        stores.append(await FlowerStore.start(program, tempfile.mkdtemp(dir=place)))
        return stores[-1]

    await run_session_store_conformance(new)
    store = await new()
    await folds(store)
    await helpers(store)
    key = {"project_key": "-odd", "session_id": "s"}
    await store.append(key, ODD)
    same(await store.load(key), ODD)
    try:
        await store.append({"project_key": "a/b", "session_id": "s"}, [{"type": "x"}])
    except RuntimeError as error:
        assert "a/b" in str(error), error
    else:
        raise SystemExit("a project with a slash was taken")
    for store in stores:
        await store.end()
    # The SDK must have asked for all that there is, not for the two methods that it requires.
    assert len(stores) > 12, len(stores)


asyncio.run(main(sys.argv[1], sys.argv[2]))
