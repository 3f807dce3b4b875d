"""Passwords that are words, told in several languages, and what stands in those places and is none."""

from __future__ import annotations

import re

from stitch.ingest.secrets import redact_text

TEXTS = [
    "Das Passwort lautet «Haselnuss».",
    "Das Passwort ist «Regenschirm»",
    "Das Passwort ist Pflicht.",
    "Le mot de passe est «brioche».",
    "Le mot de passe est partagé.",
    "Le mot de passe est court.",
    "La contraseña es «berenjena».",
    "La contraseña es compartida.",
    "La contraseña es corta.",
    "La password è «melanzana».",
    "La password è condivisa.",
    "wachtwoord is «madelief»",
    "wachtwoord is verlopen",
    "Mein Kennwort heißt «Nebelhorn4».",
    "Su contraseña provisional es «Rio-3310»",
    "La password temporanea: «Vento-4021»",
    "mot de passe : obligatoire",
    "senha: obrigatória",
    "Пароль: обязательно",
    "pw: 720px",
    "COOKIE_SECRET=«teapots-and-kettles»",
    "APP_SECRET=«marmaladesandwich»",
    "SECRET=required",
    "SECRET=on-and-off",
    "auth_token = '«kVbTqZrXwLpNsHjDgFcMyKt»'",
    "auth_token = 'authenticationHeaderName'",
    "the cohere key «Wq83LmNx4TvKcRz71BhYpDs5JgFe2u» from the console",
    "the idempotency key Wq83LmNx4TvKcRz71BhYpDs5JgFe2u",
    "the S3 key Wq83LmNx4TvKcRz71BhYpDs5JgFe2u",
    "http POST api.example/v1 api_key==«Mx71TqLw83NvKcRz55Yd»",
    "if password==confirm:",
    "denied (user=root, pass=«gingerbread»)",
    "denied (user=root, pass=true)",
    "tests: user=3, pass=44",
    "{'auth': ('ann', '«Siskin4»')}",
    "{'auth': ('ann', name)}",
    "https://«7c30e1a6b1d84f2259c6dd07aa3b8e9141f0c2d7»:«x-oauth-basic»@host.example/a.git",
    "net use Z: \\\\box\\share «Plover31» /user:corp\\ann",
    "net use Z: \\\\box\\share * /user:corp\\ann",
    "rclone obscure «tarn77»",
    "bcp a out b -U sa -P'«Curlew9»'",
    'password = """«Dunlin-8»"""',
    "<param-name>apiKey</param-name><param-value>«Hq72LmWx5TvKcRz8»</param-value>",
    "https://hook.eu2.example.com/«gk4idx7bvm9rths3kehc5i6lfsr3»",
    "https://hooks.example.com/docs/getting-started-with-hooks",
    "Use TAN 481516 today".replace("481516", "«481516»"),
    "| field | type |\n|---|---|\n| password | text |\n| api_key | number4 |",
    "| user | password |\n|---|---|\n| ann | «Siskin_4» |",
    "PASSWORD=`cat words.txt`",
    "password policy: min=12",
    "ssh-keygen -t rsa -N '«ruff-88k»' -f k",
    "ssh-keygen -t rsa -N '' -f key77",
    "- name: DB_PASSWORD\n  value: «copperKettle»",
]
_MARKED = re.compile("«(.*?)»", re.DOTALL)


def test_words_told_as_a_password_go_and_what_is_said_of_one_stays() -> None:
    wrong = []
    for marked in TEXTS:
        text = _MARKED.sub(r"\1", marked)
        expected = _MARKED.sub("*", marked)
        if re.sub(r"\[redacted:[a-z-]+\]", "*", redact_text(text)[0]) != expected:
            wrong.append((expected, redact_text(text)[0]))
    assert not wrong
