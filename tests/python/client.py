"""Asks the gate at sys.argv[1] through the official client and complains where an answer is off."""

import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1], api_key="not-a-key", max_retries=0)
common = {"model": "demo-1", "max_tokens": 1000}
tools = [{
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}]
GREETING = "Hello from the cassette — 你好, привет!"


def same(got, want):
    if got != want:
        raise SystemExit(f"got {got!r}, want {want!r}")


hello = [{"role": "user", "content": "hello"}]
message = client.messages.create(messages=hello, **common)
same([block.type for block in message.content], ["text"])
same(message.content[0].text, GREETING)
same((message.stop_reason, message.usage.input_tokens), ("end_turn", 900))

with client.messages.stream(messages=hello, **common) as stream:
    same("".join(stream.text_stream), GREETING)
    final = stream.get_final_message()
same((final.stop_reason, final.usage.output_tokens), ("end_turn", 40))
if final.id == message.id:
    raise SystemExit("two replies of a rule have the same id")

talk = [{"role": "user", "content": "the weather?"}]
with client.messages.stream(messages=talk, tools=tools, **common) as stream:
    call = stream.get_final_message()
same([block.type for block in call.content], ["thinking", "text", "tool_use"])
same(call.content[2].input, {"city": "Paris", "note": "asked: the weather?"})
same(call.stop_reason, "tool_use")

talk.append({"role": "assistant", "content": call.content})
talk.append({"role": "user", "content": [{
    "type": "tool_result", "tool_use_id": call.content[2].id, "content": "sunny",
}]})
answer = client.messages.create(messages=talk, tools=tools, **common)
same(answer.content[0].text, "It is sunny in Paris.")

same(client.messages.count_tokens(model="demo-1", messages=hello).input_tokens, 12)
same([model.id for model in client.models.list()], ["demo-1"])

try:
    client.messages.create(messages=[{"role": "user", "content": "else"}], **common)
    raise SystemExit("a request that no rule matches was answered")
except anthropic.PermissionDeniedError as error:
    if "closest is rule" not in str(error):
        raise SystemExit(f"unclear refusal: {error}") from error

print("ok")
