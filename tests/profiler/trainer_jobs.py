"""Small trainings with real Lightning and real transformers, for their own environment: KIND, callback or not, and a
folder. Prints what the trainer itself counted."""

from __future__ import annotations

import json
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


def transformers(callbacks: list[Any], steps: int = 8) -> dict[str, int]:
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
        output_dir=sys.argv[3],
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


def main() -> None:
    kind, how, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder.mkdir(exist_ok=True)
    if how == "failing":
        lightning(callbacks_for(kind, "range", folder), fail_in=4)
    elif how == "long":
        counted = transformers([], steps=40)
    else:
        counted = {"lightning": lightning, "transformers": transformers}[kind](callbacks_for(kind, how, folder))
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
