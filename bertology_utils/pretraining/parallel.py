"""One process, or several that `accelerate launch` started. Depends on torch; on accelerate only with several."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch import nn

from bertology_utils.errors import BertologyError

LONGEST_WAIT = timedelta(hours=12)  # for the first process, which tokenizes


class Processes:
    """Who this process is among those that train one model, and how gradients are shared.

    Attributes:
        rank, count: number of this process, and how many there are.
        device: where it computes.
    """

    def __init__(self) -> None:
        self.accelerator = None
        self.rank, self.count = 0, int(os.environ.get("WORLD_SIZE", "1"))
        if self.count == 1:
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            return
        try:
            from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
        except ImportError:
            raise BertologyError("Several processes need the package accelerate: pip install accelerate.") from None
        # The heads of objectives that a phase leaves out get no gradient.
        unused = DistributedDataParallelKwargs(find_unused_parameters=True)
        patience = InitProcessGroupKwargs(timeout=LONGEST_WAIT)
        self.accelerator = Accelerator(cpu=not torch.cuda.is_available(), kwargs_handlers=[unused, patience])
        self.rank, self.count = self.accelerator.process_index, self.accelerator.num_processes
        self.device = self.accelerator.device

    @property
    def is_main(self) -> bool:
        """The one process that writes."""
        return self.rank == 0

    def share(self, network: nn.Module) -> nn.Module:
        """The network whose gradients are averaged over the processes."""
        return network if self.accelerator is None else self.accelerator.prepare_model(network)

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """The main process goes through the block before the others."""
        if self.accelerator is None:
            yield
        else:
            with self.accelerator.main_process_first():
                yield

    def wait(self) -> None:
        if self.accelerator is not None:
            self.accelerator.wait_for_everyone()
