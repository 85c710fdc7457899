"""A neural learner that learns from rewards only: propose a translation, observe its reward, update the weights."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from mtloop.bandits.draw_log import DrawLog
from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.expected_loss import clip_lesson
from mtloop.bandits.neural.explorers import ExpectedLoss, Explorer, RewardedProposal
from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.nmt.adaptive import AdaptiveNMT, text_unit
from mtloop.nmt.delta import Delta, fitting
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits
from mtloop.nmt.last_encoding import LastEncoding
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS
from mtloop.nmt.scopes.scope import NotFinite, Scope, base_of
from mtloop.text.text_unit import TextUnit

BANDIT_PREFIX = "bandit/"  # prefix of the tensors in a delta that do not belong to the scope
EXPLORER = f"{BANDIT_PREFIX}explorer/"
Clipping = Literal["gradient", "score"]


class BanditNMT:
    """A scope of a model that learns, and an explorer that chooses translations (see `explorers`).

    The memo of a proposal holds all that learning from its reward needs: tokens, temperature and the seed of the draw,
    which depends on the seed of the run, the number of rewards so far and the source (see `DrawLog`). So a late reward
    still applies to its own proposal; its gradient is taken at the current weights. `Learned.rejected` gives the reason
    for a reward that was not learned from:

        reward out of range   NaN, or outside 0 to 1
        unknown proposal      this learner did not draw it, or its text was changed
        rewarded before       only the first reward counts
        not drawn             the source was empty, or the sentence to sample was split into pieces
        not finite            the gradient was NaN or infinite

    A rejected reward does not change running mean, annealing or weights; only "not finite" counts for the first two.
    """

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(
        self,
        scope: Scope,
        explorer: Explorer | None = None,
        *,
        method: str = "nmt-el",
        annealing: Annealing | None = None,
        max_gradient_norm: float = 1.0,
        clipping: Clipping = "gradient",
        seed: int = 1,
        max_piece_tokens: int = MAX_PIECE_TOKENS,
        whole_segments: bool = False,
    ) -> None:
        """`max_gradient_norm` 0 does not clip. `whole_segments`: do not cut segments into sentences.

        `clipping` = "gradient" clips the gradient of the loss; "score" clips that of the log-probability, before the
        reward weights it, so that a small advantage makes a small update.
        """
        self.scope, self.explorer, self.method = scope, explorer or ExpectedLoss(), method
        self.max_gradient_norm, self.clipping = max_gradient_norm, clipping
        self.annealing = annealing or Annealing()
        self.draw_log_ = DrawLog(method, seed, needs=self.explorer.memo_names)
        self.updates_ = 0
        self.limits, self.max_piece_tokens, self.whole_segments = LengthLimits(), max_piece_tokens, whole_segments
        self._last = LastEncoding()

    @property
    def model(self) -> Marian:
        return self.scope.model

    def translator(self) -> AdaptiveNMT:
        """Return a learner that translates with the current weights, without sampling."""
        return AdaptiveNMT(
            self.scope, method=self.method, max_updates=0, limits=self.limits, max_piece_tokens=self.max_piece_tokens
        )

    def propose(self, segment: Segment) -> Proposal:
        """Draw a translation. In a segment of several sentences one is drawn, and the reward is credited to it."""
        translator, unit = self.translator(), self._unit(segment)
        seed = self.draw_log_.next_seed(segment)
        part = seed % max(1, len(unit.parts))
        if not unit.parts or len(list(translator.split_source(unit.parts[part]))) != 1:
            return translator.propose(segment)
        temperature = self.annealing.temperature_after(self.draw_log_.rewards_.count_)
        explored = self.explorer.explore(self.scope, self._encode(unit.parts[part]), self.limits, seed, temperature)
        texts = [translator.translate_sentence(one) if i != part else "" for i, one in enumerate(unit.parts)]
        texts[part] = self.model.target.decode(explored.ids)
        text = unit.assemble(texts, translator.align).text
        drawn = {**explored.memo, "part": part} if len(unit.parts) > 1 else explored.memo
        memo = self.draw_log_.signed_memo(segment, text, drawn)
        return Proposal(segment, text, self.method, explored.probability, memo=memo)

    def _unit(self, segment: Segment) -> TextUnit:
        return TextUnit.whole(segment.source) if self.whole_segments else text_unit(segment)

    def drawn_source(self, proposal: Proposal) -> str:
        """Return the sentence of a segment whose translation was drawn."""
        part = proposal.memo.get("part", 0)
        parts = self._unit(proposal.segment).parts
        return parts[part] if isinstance(part, int) and 0 <= part < len(parts) else proposal.segment.source

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if (reason := self.draw_log_.rejection(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        assert isinstance(feedback, Reward)
        rewards = self.draw_log_.rewards_
        scale = self.annealing.learning_rate_scale(rewards.count_)
        self.draw_log_.record_reward(proposal, feedback.value)
        mean = rewards.total_ / rewards.count_
        source = self.drawn_source(proposal)
        rewarded = RewardedProposal(proposal, feedback.value, mean, cache(lambda: self._encode(source)), source)
        learned = self._update(rewarded, scale) if scale else Learned()
        self.explorer.observe_reward(rewarded)
        return learned

    def _update(self, rewarded: RewardedProposal, scale: float) -> Learned:
        try:
            lesson, weight = self.explorer.lesson(self.scope, self.limits, rewarded)
            if not weight.any():
                return Learned()
            self.scope.update(clip_lesson(lesson, self._max_norm(weight), scale, self.scope.extra_bias is not None))
        except NotFinite:
            self.scope.rollback()
            return Learned(rejected="not finite")
        self._last.clear()
        self.scope.commit()
        self.updates_ += 1
        return Learned(1, info={"weight": float(f"{weight.mean():.4g}")})

    def _max_norm(self, weight: Tensor) -> float:
        scale = float(weight.pow(2).mean().sqrt()) if self.clipping == "score" else 1.0
        return self.max_gradient_norm * scale

    def _encode(self, sentence: str) -> Encoded:
        return self._last.encode(self.model, self.model.source.encode(sentence))

    def save(self, folder: Path) -> None:
        self.delta().write(folder / "delta.safetensors")

    def load(self, folder: Path) -> None:
        self.load_delta(Delta.read(folder / "delta.safetensors"))

    def delta(self) -> Delta:
        """Return the learned weights, as a difference from the base, and the state of rewards and explorer."""
        rewards = self.draw_log_.rewards_
        state = {
            f"{BANDIT_PREFIX}total": torch.tensor(rewards.total_, dtype=torch.float64),
            f"{BANDIT_PREFIX}rewarded": torch.tensor(sorted(self.draw_log_.rewarded_), dtype=torch.int64),
        }
        state |= {f"{EXPLORER}{name}": tensor for name, tensor in self.explorer.tensors().items()}
        counters = {"rewards": rewards.count_, "updates": self.updates_}
        return Delta(self._name(), self._base(), self.scope.tensors() | state, counters)

    def load_delta(self, delta: Delta) -> None:
        """Restore a delta; raise InputError if it belongs to another base model or method."""
        delta.check(self._name(), self._base())
        own = {name: tensor for name, tensor in delta.tensors.items() if name.startswith(BANDIT_PREFIX)}
        with fitting(delta, base_of(self.scope).weights):
            self._restore_explorer(own)
            self.scope.restore({name: tensor for name, tensor in delta.tensors.items() if name not in own})
            rewards = self.draw_log_.rewards_
            rewards.total_ = float(own[f"{BANDIT_PREFIX}total"])
            self.draw_log_.rewarded_ = set(own[f"{BANDIT_PREFIX}rewarded"].tolist())
            rewards.count_, self.updates_ = delta.counters["rewards"], delta.counters["updates"]
        self._last.clear()

    def _restore_explorer(self, tensors: Mapping[str, Tensor]) -> None:
        explorer = {name.removeprefix(EXPLORER): tensors[name] for name in tensors if name.startswith(EXPLORER)}
        try:
            self.explorer.restore(explorer)
        except KeyError as error:
            raise InputError(
                f"this delta has no {error} of {self.method}; was it learned with other settings?"
            ) from error

    def _name(self) -> str:
        """The name of method and scope in a delta, for example "nmt-el on Adam of OutputBias"."""
        parts = (self.scope, getattr(self.scope, "scope", None))
        names = [type(part).__name__.removesuffix("Scope") for part in parts if part is not None]
        return f"{self.method} on {' of '.join(names)}"

    def _base(self) -> str:
        return base_of(self.scope).weights.fingerprint
