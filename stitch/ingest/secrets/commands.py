"""Passwords that commands take as an argument."""

from __future__ import annotations

import re

from stitch.ingest.secrets.rules import Rule, rule_within
from stitch.ingest.secrets.values import is_argument, is_dense, is_mixed, is_odd_argument, is_plain_secret, looks_random

_ARGUMENT = (
    r"(?:'(?P<secret>[^'\r\n]{3,100})'|\"(?P<quoted>[^\"\r\n]{3,100})\""
    r"|(?P<bare>(?!\*\*\*)[^\s'\"|;&<>]{3,100}))"
)
_ON = r"[^\n|;&]{0,120}?\s"
"""What may stand between a command and its option."""

_OPTIONS = (
    ("mysql|mariadb", r"(?:mysql|mariadb)[\w-]{0,12}", r"-p"),
    ("sshpass|7z x|7z a|7z e|7za |rar x|rar a", r"sshpass|7za?|rar|unrar", r"-(?:p|P|hp) ?"),
    ("zip -", r"unzip|zip", r"(?-i:-P) ?"),
    ("pscp|plink|knife|sshfs|winrm|winexe|nxc |crackmapexec",
     r"pscp|plink|knife|sshfs|evil-winrm|winexe|nxc|crackmapexec", r"-(?:p|P|pw|H) "),
    ("login -|cqlsh|sqlcmd|bcp |mosquitto_|keychain|clickhouse",
     r"login|cqlsh|sqlcmd|bcp|mosquitto_(?:pub|sub)|unlock-keychain|clickhouse-client",
     r"-[pP](?: |(?=['\"]))"),
    ("ipmitool|rpcclient|isql|tsql ", r"ipmitool|rpcclient|isql|tsql", r"-P "),
    ("ldap", r"ldap[a-z]{3,8}", r"-w "),
    ("redis-cli", r"redis-cli", r"-a "),
    ("openssl", r"openssl", r"-k "),
    ("ssh-keygen", r"ssh-keygen", r"-(?-i:[NP]) (?!\"\"|'')"),
    ("snmp", r"snmp[a-z]{3,8}", r"-[AXc] "),
    ("snmp-server", r"snmp-server", r"community "),
    ("nmcli", r"nmcli", r"(?:password|psk) "),
    ("xfreerdp|schtasks|psexec|cmdkey|wmic|signtool",
     r"xfreerdp|schtasks|psexec|cmdkey|wmic|signtool", r"/(?:p|rp|pass|password|pw)[: ]"),
    ("pdftotext|pdftk|qpdf", r"pdftotext|pdftk|qpdf", r"-(?:upw|opw|input_pw) "),
)  # fmt: skip
"""Signs of a command, the command, and what stands before the password that it takes."""

_PAIR = r"[ =]?[\"']?(?:[\w.-]{1,40}[/\\]{1,2})?[^\s:,%\"'$/]{1,64}[:,%](?P<secret>[^\s\"'|;&]{3,100})"


def _is_token(text: str) -> bool:
    """Whether an argument is a token: no path, image or address."""
    return is_dense(text) or (
        looks_random(text) and not re.search(r"/.*[/.:]|\.\w{2,5}\Z", text) and ":" not in text[:6]
    )


def _is_literal(text: str) -> bool:
    """Whether what stands in quotes is a password; a hyphen before it makes no option of it there."""
    return is_argument(text.lstrip("-"))


def _is_printed(text: str) -> bool:
    return is_plain_secret(text) or looks_random(text)


def _is_word_or_odd(text: str) -> bool:
    """Whether what follows a user's name and `-p` is a password: no port, range or object."""
    is_word = is_argument(text) and "/" not in text and text[0].isalpha() and not text.isidentifier()
    return is_word or is_odd_argument(text)


COMMANDS: tuple[Rule, ...] = (
    rule_within(
        "password",
        signs="curl|wget|http -|https -|xh -|ab -|wrk -|siege|hey -|aria2c|lftp|smbclient|rpcclient|jenkins-cli|winexe",
        accepts=is_argument,
        pattern=r"\b(?:curl|wget|https?|xh|ab|wrk|siege|hey|aria2c|lftp|smbclient|rpcclient|jenkins-cli|winexe)\b"
        rf"{_ON}(?:-u|-a|-A|-U|--user|--auth|-auth|--proxy-user){_PAIR}",
    ),
    rule_within(
        "password",
        signs="--user|--auth|--creds|--basic|--proxy-user|--http-auth",
        accepts=is_odd_argument,
        pattern=rf"--(?:user|userpass|auth|basic-auth|basic|creds?|proxy-user|http-auth){_PAIR}",
    ),
    *(
        rule_within("password", signs=signs, accepts=is_argument, pattern=rf"\b(?:{command})\b{_ON}{option}{_ARGUMENT}")
        for signs, command, option in _OPTIONS
    ),
    rule_within(
        "password",
        signs="radtest|wpa_passphrase|htpasswd|mosquitto_passwd|rclone obscure",
        accepts=is_argument,
        pattern=r"\b(?:radtest \S{1,60}|rclone obscure|wpa_passphrase \S{1,80}"
        rf"|(?:htpasswd|mosquitto_passwd) -\w{{1,4}} \S{{1,80}} \w{{1,40}}) {_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs=" -p | -w | -pw | -pass | -p=| -pass=",
        accepts=is_odd_argument,
        pattern=r"\s(?!-\S{1,9} \S{1,40} (?:mkdir|cp|tar|install|touch)\b)-{1,2}(?:u|U|n|user|username|l|login|D)[ =]?"
        rf"[\"']?[\w.@\\,=-]{{1,60}}[\"']?(?:[ ][^\n|;&]{{0,80}}?)?\s-(?:p|P|W|w|pass|pw)[ =]{_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs="sqlplus|sqlldr|expdp|impdp",
        accepts=is_argument,
        pattern=r"\b(?:sqlplus|sqlldr|expdp|impdp)\b[^\n|;&]{0,40}?\s[\w$]{1,40}/(?P<secret>[^\s@\"']{3,100})",
    ),
    rule_within(
        "password",
        signs="net use",
        accepts=is_argument,
        pattern=r"\bnet use\s(?:\w:\s)?[\\/\n]{1,4}[^\s|;&]{1,120}\s(?P<secret>[^\s/*|;&][^\s|;&]{3,60})\s/u(?:ser)?:",
    ),
    rule_within(
        "password", signs="/user:", accepts=is_argument, pattern=rf"/user:\S{{1,80}} (?:/p:|/pass:)?{_ARGUMENT}"
    ),
    rule_within(
        "password",
        signs="securestring",
        accepts=_is_literal,
        pattern=rf"SecureString (?:-String )?(?=[\"']){_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs="securestring",
        accepts=is_argument,
        pattern=r"SecureString (?:-String )?(?P<secret>[^\s'\"|;&<>$()-][^\s'\"|;&<>()]{2,99})"
        r" -(?:AsPlainText|Force)\b",
    ),
    rule_within(
        "password",
        signs="secret 0|secret 5|secret 7|password 0|password 7",
        accepts=is_argument,
        pattern=rf"\b(?:secret|password) [057] {_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs="enable secret|isakmp key|tacacs|radius|key-string|wpa-psk|auth-user-pass|masterauth|auth-pass|wpa2 "
        "|wpa3 ",
        accepts=is_odd_argument,
        pattern=r"\b(?:enable secret|isakmp key|(?:tacacs|radius)[\w-]{0,12}(?: host \S{1,40})? key|key-string"
        rf"|wpa-psk ascii|wpa[23]|masterauth|auth-pass \S{{1,40}}|auth-user-pass:? \S{{1,40}}) (?:\d )?{_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs="add_user|adduser|add-user|user add|useradd|net user|change_password|authenticate_user",
        accepts=is_odd_argument,
        pattern=r"\b(?:add[_-]?user|user add|useradd|net user|change_password|authenticate_user) (?:-\S{1,20} ){0,3}"
        rf"(?![-/])\S{{1,64}} {_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs=" -p |--pass ",
        accepts=_is_word_or_odd,
        pattern=rf"(?<!sudo)\s(?:-u|-U|--user|--username)[ =][\w.@-]{{1,60}} (?:-p|-P|--pass) {_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs=" -p '| -p \"",
        accepts=is_argument,
        pattern=rf"(?<!sudo)\s(?:-u|-U|--user|-username)[ =][\w.@-]{{1,60}} -p (?=['\"]){_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs="alias set|config host add",
        accepts=is_odd_argument,
        pattern=rf"\b(?:alias set|config host add) \S{{1,60}} \w{{1,10}}://\S{{1,120}} \S{{1,60}} {_ARGUMENT}",
    ),
    rule_within("password", signs="pass:", accepts=is_argument, pattern=rf"-pass(?:in|out|wd)? pass:{_ARGUMENT}"),
    rule_within(
        "password",
        signs="stdin|passw|secret|sudo|cryptsetup|ssh-add|docker login|kinit",
        accepts=is_argument,
        pattern=rf"\b(?:echo|printf)(?: -\w)?(?: ['\"]%s(?:\\?\\n|\n)?['\"])? (?:[\w.-]{{1,40}}:)?{_ARGUMENT} ?\|"
        r"[^\n|]{0,80}?(?:stdin|passw|secret|cryptsetup|ssh-add|kinit|login|-S\b)",
    ),
    rule_within(
        "password",
        signs="<<<",
        accepts=is_argument,
        pattern=rf"\b(?:sudo -S|\w{{0,12}}passwd|cryptsetup|ssh-add|su|kinit|keepassxc-cli"
        rf"|[\w-]{{0,20}}-?(?:login|auth|unlock)|secrets? [a-z]{{3,10}}(?: [a-z]{{3,10}})?)\b"
        rf"[^\n|;<]{{0,100}}<<< ?{_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs="eval|command|cmd|askpass",
        accepts=is_argument,
        pattern=rf"pass(?:word)?[-_ ]?(?:eval|command|cmd)?[\"']?[ =:]{{1,3}}[\"']?(?:echo|printf) {_ARGUMENT}",
    ),
    rule_within(
        "password",
        signs="<(echo|<(printf",
        accepts=is_argument,
        pattern=r"pass(?:word|wd|phrase)?[-_]?(?:file)?[ =:]<\((?:echo|printf) ['\"]?(?P<secret>[^\s'\"()]{3,100})",
    ),
    rule_within(
        "secret",
        signs="secret set|secrets set|secret create|secret:create|put-secret|put-parameter|add-secret",
        accepts=is_argument,
        pattern=r"(?:secrets?[ :](?:set|create|add)|put-secret-value|put-parameter)[^\n|;&]{0,160}?"
        rf"(?:--value|--secret-string|--body|--string)[ =]{_ARGUMENT}",
    ),
    rule_within(
        "secret",
        signs="base64 -d|base64 --decode|print-access-token|get-secret-value|pass show|op read|find-generic-password"
        "|reset-password|reset_password|get-login-password|get-access-token|print-identity-token|auth token",
        accepts=_is_printed,
        pattern=r"(?:base64 (?:-d|--decode)|print-access-token|get-secret-value|pass show|op read"
        r"|find-generic-password|reset[-_]password|get-login-password|get-access-token|print-identity-token|auth token)"
        r"[^\n]{0,120}\n(?:new value: |new password: )?(?P<secret>[^\s\"'`]{6,4000})(?=\s|$)",
    ),
    rule_within(
        "secret",
        signs="$ ",
        accepts=_is_printed,
        pattern=r"(?:(?<=\n)|^)[^\n$]{0,40}\$ (?=[^\n]{1,80}\b(?:get|show|read|output|access|view|reveal)\b)"
        r"(?=[^\n]{1,160}(?:password|passwd|secret|token|passphrase))[^\n]{1,300}\n"
        r"(?P<secret>[^\s\"'`]{8,400})(?=[ \t\r]{0,9}(?:\n|$))",
    ),
    rule_within(
        "secret",
        signs=" auth ",
        accepts=looks_random,
        pattern=r"(?:(?<=\n)|(?<=\$ )|^)[\w-]{2,24} auth (?P<secret>[\w.-]{20,400})(?=\s|$)",
    ),
    rule_within(
        "secret",
        signs="pwgen|openssl rand|gen-random|makepasswd|urandom|apg -|pwqgen|xkcdpass|diceware|genpass|token_hex"
        "|token_urlsafe|random-password|generate-password|generate --",
        accepts=_is_printed,
        pattern=r"(?:\bpwgen|openssl rand|--gen-random|\bmakepasswd|/dev/u?random|\bapg|\bpwqgen|\bxkcdpass|\bdiceware"
        r"|\bgenpass|token_(?:hex|urlsafe)|random-password|generate-password"
        r"|\b(?:pass|bw|gopass|keepassxc-cli|op) generate)\b[^\n]{0,120}\n(?P<secret>[^\s\"'`]{8,400})(?=\s|$)",
    ),
    rule_within(
        "password",
        signs="login incorrect|login ok|invalid user [|rejected: [",
        accepts=is_argument,
        pattern=r"(?:login incorrect|login ok|invalid user)[^\n\[]{0,80}\[[^\s\[\]/]{1,64}/"
        r"(?!<)(?P<secret>[^\s\[\]]{3,100})\] ",
    ),
    rule_within(
        "password",
        signs="331 |+ok|auth |setuser|default on >",
        accepts=is_odd_argument,
        pattern=r"(?:(?:331|\+ok)[^\n]{0,80}\n(?:-*> ?)?pass|(?:(?<=> )|(?<=\n)|^)auth(?: \w{1,40}(?= \S))?"
        r"|acl setuser[^\n]{0,80}?(?= >)|user \w{1,40} on(?= >))"
        r" >?(?P<secret>\S{4,80})(?=\s|$)",
    ),
    rule_within(
        "password",
        signs="http-basic.|bundle config|nickserv|+login |rocommunity|rwcommunity|{plain}|{cleartext}|key found!",
        accepts=is_odd_argument,
        pattern=r"(?:http-basic\.\S{1,60} \S{1,60}|bundle config (?:set )?(?:--\w{1,10} )?\S{1,80}"
        r"|nickserv :?identify(?: \w{1,30}(?= \S))?"
        r"|\+login \w{1,40}|r[ow]community|\{(?:plain|cleartext)\}|key found! \[) ?"
        r"(?P<secret>[^\s:\"']{4,80}(?::[^\s:\"']{4,80}(?=\s|$))?)",
    ),
    rule_within(
        "secret",
        signs="_session=",
        accepts=is_dense,
        pattern=r"\b[A-Z][A-Z0-9_]{1,40}_SESSION=[\"']?(?P<secret>[\w+/=.-]{32,4000})",
    ),
    rule_within(
        "secret",
        signs="configure",
        accepts=is_mixed,
        pattern=rf"\bconfigure set \S{{0,60}}(?:secret|token|key|password)\S{{0,20}} {_ARGUMENT}",
    ),
    rule_within(
        "secret",
        signs=" -t | -k | --token| --key| --auth| --apikey| --api-key",
        accepts=_is_token,
        pattern=r"\s-{1,2}(?:t|k|token|key|auth|api-?key)[ =][\"']?(?P<secret>[\w+/=.:~-]{20,2000})",
    ),
)
"""Commands that take a password or a token."""
