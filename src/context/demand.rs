//! What the Messages API demands of a conversation, and what the view does where a record breaks it.
//!
//! Nothing here is run; it is the list that [`super::view`] works through. A demand is what the API
//! refuses a request for. That speakers alternate is not one: the API joins messages of one speaker.
//! It is our normal form all the same, and the engine writes it.
//!
//! **Calls and results** (`turn`, `pair`, `place`)
//! - Every call is answered in the user's next message. An unanswered one gets a result that says so.
//! - Every result answers a call of the message before. One that does not goes; one that stands
//!   elsewhere is put behind its call.
//! - One result for each call; a second one goes. What the model sees has the first right.
//! - Results stand before everything else in their message.
//! - Ids of calls are unique, not empty, and made of `a-z A-Z 0-9 _ -`. A call that stands twice with
//!   the same name and input was recorded twice, and the copy goes; else it and its result get a new id.
//! - A tool's name is made of the same characters, an input is an object. Names of tools that are not
//!   there any more are fine.
//! - All entries of one message id are one message: its calls may be answered while it is still being
//!   written, so that results hang below their own calls and the chain forks.
//! - A call that the server runs itself and its result stand in one message, or neither.
//!
//! **Blocks** (`mend`)
//! - No text is empty or white; none such carries a mark for the cache.
//! - No message is empty. (The last one of the model might be; it goes as well.)
//! - A failed result says something. Content of a result is a string or blocks of text, image, document.
//! - Text is Unicode: half of a surrogate pair becomes U+FFFD, also in inputs and keys.
//! - Thinking stays byte for byte, or goes whole: unsigned, damaged, at the end of a message or alone.
//! - An image is PNG, JPEG, GIF or WebP by its bytes and says so, is not empty, has at most 5 MB of base64
//!   and 8000 pixels on a side, and at most 2000 where there is more than one. (The API's documents
//!   set that limit for more than twenty; refused requests were reported with fewer.) At most 100 images
//!   and documents; the oldest go. A line of text takes their place.
//! - Users say texts, images, documents and results; the model says texts, thinking and calls.
//!
//! **The chain** (`chain`, `compaction`, `place`)
//! - The first message is the user's.
//! - Every entry leads to the beginning. A parent that was never written is bridged by order, with a line
//!   that says so; one that is the entry itself or stands behind it, without.
//! - One uuid, one entry.
//! - From a compaction on: its summary, what it kept, and what is new. One without a summary does
//!   not count.
//!
//! Summaries and meta entries are never shortened. Where a demand forces a change in one it is made, and
//! [`super::Report::protected`] counts it.
