"""What can go wrong between this machine and its sandbox.

SandboxError
├── StartError                 a server ended, or never answered, before it was ready
├── CommandError               a tool such as the CDK CLI ended with an error
└── IncompleteDeploymentError  the deployed stacks lack an output the sandbox needs
"""


class SandboxError(Exception):
    """Anything the sandbox cannot go on from; its text says where to look."""


class StartError(SandboxError):
    """A server ended, or never answered, before it was ready."""


class CommandError(SandboxError):
    """A tool ended with an error; the text holds its last lines and its log's path."""


class IncompleteDeploymentError(SandboxError):
    """The deployed stacks lack an output the sandbox needs."""
