"""Every key of both files that takes text, found by walking their declarations. A secret can be planted in each."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel, SecretStr

from streaming.config.alerts import Alerts, SecretPlace
from streaming.config.config_errors import ConfigFaults
from streaming.config.load import load_alerts, load_config
from streaming.config.secrets import kind_of
from streaming.config.sections import Config
from streaming.config.values import SecretKind


class TextKey(NamedTuple):
    """``kind`` None: the key is open."""

    root: type[BaseModel]
    path: tuple[str, ...]
    kind: SecretKind | None

    @property
    def name(self) -> str:
        return ".".join(self.path)


def text_keys(
    root: type[BaseModel], model: type[BaseModel] | None = None, path: tuple[str, ...] = ()
) -> Iterator[TextKey]:
    for name, field in (model or root).model_fields.items():
        here = (*path, name)
        parts = list(_parts(field.annotation))
        if SecretPlace in parts:
            yield TextKey(root, here, SecretKind.TEXT)
        elif inner := [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]:
            yield from text_keys(root, inner[0], here)
        elif str in parts or SecretStr in parts:
            yield TextKey(root, here, kind_of(field))


def _parts(annotation: Any) -> Iterator[Any]:
    """``Literal`` and numbers take no text that somebody chooses."""
    yield annotation
    if getattr(get_origin(annotation), "__name__", "") != "Literal" and "Literal" not in str(get_origin(annotation)):
        for part in get_args(annotation):
            yield from _parts(part)


OPTIONS = {
    "source.kafka": ("sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", "sasl.something.new"),
    "collector.kafka": ("sasl.plain.password", "ssl.password", "socks5.proxy"),
    "spark.settings": ("spark.hadoop.fs.s3a.secret.key", "spark.ssl.keyPassword", "spark.driver.extraJavaOptions"),
}


def read_with(key: TextKey, secret: str, folder: Path, option: str = "") -> None:
    """Reads a configuration that has the secret under this key, whether it is accepted or not."""
    environ: dict[str, str] = {}
    value = _value(key, secret, folder, option, environ)
    if key.root is Config:
        environ["EVENKEEL__" + "__".join(key.path).upper()] = value if isinstance(value, str) else json.dumps(value)
        with suppress(ConfigFaults):
            load_config(None, environ, ())
        return
    rules = folder / "alerts.toml"
    section, name = key.path
    head = f"[[{section}]]\nname = 's'\nkind = 'webhook'" if section == "sinks" else f"[{section}]"
    url = "\nurl = 'http://h/x'" if section == "sinks" and name != "url" else ""
    written = f"{{ env = '{value['env']}' }}" if isinstance(value, dict) else json.dumps(value)
    rules.write_text(f"{head}{url}\n{name} = {written}\n")
    with suppress(ConfigFaults):
        load_alerts(load_config(None, {"EVENKEEL__NOTIFY__ALERTS": str(rules)}, ()), environ)


def _value(key: TextKey, secret: str, folder: Path, option: str, environ: dict[str, str]) -> Any:
    if key.kind is SecretKind.OPTION:
        quoted = {"sasl.jaas.config": f'x.Login required username="u" password="{secret}";'}
        quoted |= {"socks5.proxy": f"socks5://user:{secret}@proxy:1080"}
        quoted |= {"spark.driver.extraJavaOptions": f"-Xss1m -Dmy.password={secret} -Da=b"}
        return {option: quoted.get(option, secret)}
    if key.kind is SecretKind.ADDRESS:
        return f"https://user:{secret}@example.com/{secret}/x?a={secret}"
    if key.kind is SecretKind.FILE:
        (folder / "secret").write_text(f"{secret}\n")
        return str(folder / "secret")
    if key.root is Alerts and key.kind is SecretKind.TEXT:
        environ["THE_PLACE"] = secret
        return {"env": "THE_PLACE"}
    return secret
