"""A chat that remembers earlier ones: `OPENAI_API_KEY=... python examples/chat.py`; an empty line ends it."""

from datetime import datetime

from openai import OpenAI

from stitch import open_memory

client, messages, talk = OpenAI(), [], f"chat of {datetime.now():%Y-%m-%d %H:%M:%S}"
with open_memory("chat.memory") as memory:
    while said := input("> "):
        known = memory.search(said).context()
        messages.append({"role": "user", "content": said})
        told = {"role": "system", "content": f"What was said in earlier talks:\n{known}"}
        reply = client.chat.completions.create(model="gpt-5-mini", messages=[told, *messages])
        messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        print(messages[-1]["content"])
        memory.add_messages(messages, trajectory=talk)  # the whole list, again and again: what is new is stored
