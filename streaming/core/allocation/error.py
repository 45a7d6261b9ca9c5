"""What a client's strategy throws instead of an answer."""

ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NULL_POINTER = "java.lang.NullPointerException"


class AllocationError(Exception):
    """The exception that the Java class throws; the client logs it and keeps its old allocation.

    The message of a NullPointerException depends on the JVM: compare its class only.
    """

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(java_class, message)
        self.java_class = java_class
        self.message = message

    def __str__(self) -> str:
        return f"{self.java_class}: {self.message}"


def illegal_argument(message: str) -> AllocationError:
    return AllocationError(ILLEGAL_ARGUMENT, message)


def null_pointer(message: str) -> AllocationError:
    return AllocationError(NULL_POINTER, message)
