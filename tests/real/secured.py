"""A real RocketMQ that answers signed requests only: ACL as of 4.x, and authentication as of 5.x."""

import json

from testing.rocketmq.jars import OLD_LINE
from testing.rocketmq.loopback import LoopbackRocketMQ

ACCESS_KEY, SECRET_KEY = "evenkeel-loopback", "a-secret-of-the-test"
PLAIN_ACL = f"accounts:\n- accessKey: {ACCESS_KEY}\n  secretKey: {SECRET_KEY}\n  admin: true\n"


class SecuredRocketMQ(LoopbackRocketMQ):
    """One broker, and one user, who may do everything."""

    def __init__(self, version: str) -> None:
        super().__init__(version, ["broker-a"])
        self.user = (ACCESS_KEY, SECRET_KEY)

    def _settings(self, name: str, port: int) -> dict[str, object]:
        if self.version == OLD_LINE:
            (self._home / "conf" / "plain_acl.yml").write_text(PLAIN_ACL)
            return {**super()._settings(name, port), "aclEnable": "true"}
        package = "org.apache.rocketmq.auth.authentication.provider"
        return {
            **super()._settings(name, port),
            "authenticationEnabled": "true",
            "authenticationProvider": f"{package}.DefaultAuthenticationProvider",
            "authenticationMetadataProvider": f"{package}.LocalAuthenticationMetadataProvider",
            "authConfigPath": self._home / "auth",
            "initAuthenticationUser": json.dumps({"username": ACCESS_KEY, "password": SECRET_KEY}),
            "innerClientAuthenticationCredentials": json.dumps({"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}),
        }
