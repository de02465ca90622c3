"""Small trainings with real Lightning and real transformers, for their own environment: KIND, HOW and a folder.

HOW names ways to drive the callback, with commas between them, or a job without one. The library is imported once; each
way is a process of its own with a folder of its own. Prints as JSON what the trainer itself counted, exit codes and
errors.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch


class Rows(torch.utils.data.Dataset):  # type: ignore[misc]
    """64 rows for a linear layer."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"x": torch.full((8,), index / 64), "labels": torch.tensor(1.0)}


def lightning(callbacks: list[Any], fail_in: int | None = None) -> dict[str, int]:
    """Twelve batches, two for each optimizer step, with a validation in the middle."""
    from lightning import pytorch as pl

    class Module(pl.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)
            self.batches = 0

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.batches += 1
            if self.batches == fail_in:
                raise ZeroDivisionError
            return torch.nn.functional.mse_loss(self.layer(batch["x"]).squeeze(1), batch["labels"])

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.layer(batch["x"])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    module = Module()
    trainer = pl.Trainer(
        max_epochs=3,
        limit_train_batches=4,
        limit_val_batches=2,
        accumulate_grad_batches=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    loader = torch.utils.data.DataLoader(Rows(), batch_size=4)
    trainer.fit(module, loader, loader)
    return {"batches": module.batches, "optimizer_steps": trainer.global_step}


def transformers(callbacks: list[Any], folder: Path, steps: int = 8) -> dict[str, int]:
    """Optimizer steps of two batches each."""
    import transformers as hf

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)
            self.batches = 0

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            self.batches += 1
            answer = self.layer(x).squeeze(1)
            return {"loss": torch.nn.functional.mse_loss(answer, labels), "logits": answer}

    model = Model()
    arguments = hf.TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = hf.Trainer(model=model, args=arguments, train_dataset=Rows(), callbacks=callbacks)
    trainer.train()
    return {"batches": model.batches, "optimizer_steps": trainer.state.global_step}


def callbacks_for(kind: str, how: str, folder: Path) -> list[Any]:
    """The callback of the trainer, driven in one of its ways."""
    if how == "none":
        return []
    from stepscope.profiler import DynamicProfilerMonitor, callbacks, profile, schedule

    made = callbacks.LightningProfiling if kind == "lightning" else callbacks.TransformersProfiling
    if how == "range":
        return [made(start_step=3, stop_step=5, output_path=str(folder / "out"), on_trace_ready=None)]
    if how == "monitor":
        (folder / "profiler_config.json").write_text(json.dumps({"start_step": 3, "stop_step": 5}))
        return [made(DynamicProfilerMonitor(str(folder), str(folder / "out")))]
    plan = schedule(wait=1, active=2, repeat=2)
    return [made(profile(schedule=plan, start_profile=False, output_path=str(folder / "out")))]


def train(kind: str, how: str, folder: Path) -> dict[str, int]:
    """One training."""
    if how == "failing":
        return lightning(callbacks_for(kind, "range", folder), fail_in=4)
    if how == "long":
        return transformers([], folder, steps=40)
    callbacks = callbacks_for(kind, how, folder)
    return lightning(callbacks) if kind == "lightning" else transformers(callbacks, folder)


def in_a_process(kind: str, how: str, folder: Path) -> dict[str, Any]:
    """A training in a fork of this process: what it counted, how it ended, and what it said on stderr."""
    folder.mkdir()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT), 2)
        (folder / "counted.json").write_text(json.dumps(train(kind, how, folder)))
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    counted = folder / "counted.json"
    return {
        "counted": json.loads(counted.read_text()) if counted.exists() else None,
        "code": os.waitstatus_to_exitcode(status),
        "errors": (folder / "stderr").read_text(),
    }


def main() -> None:
    """One training here, or several in processes of their own."""
    kind, ways, folder = sys.argv[1], sys.argv[2].split(","), Path(sys.argv[3])
    if len(ways) == 1:
        folder.mkdir(exist_ok=True)
        print(json.dumps(train(kind, ways[0], folder)))
        return
    importlib.import_module("lightning.pytorch" if kind == "lightning" else "transformers.trainer")
    print(json.dumps({how: in_a_process(kind, how, folder / how) for how in ways}))


if __name__ == "__main__":
    main()
