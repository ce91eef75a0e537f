"""The scripted model's answers to jobs, computed from the conversation alone, so that all threads can share it."""

import random
import re

from tests.fakes.model_scripts import Asked, Script, calls, text

KINDS = ("talk", "mark", "mark", "clock", "ask", "post", "both")
JOB = re.compile(r"job-(\d+) (\w+)")


class JobModel:
    """Answers a request with the tool calls its open jobs need, then with one text that ends them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def __call__(self, asked: Asked) -> Script:
        spoken = [str(m.get("content") or "") for m in asked.messages if m["role"] == "assistant"]
        heard = [str(m.get("content") or "") for m in asked.messages if m["role"] == "user"]
        called = set(re.findall(r"mark-(\d+)", str([m.get("tool_calls") for m in asked.messages])))
        ended = set(re.findall(r"end-(\d+)", " ".join(spoken)))
        jobs = dict(JOB.findall(" ".join(heard)))
        open_jobs = {n: kind for n, kind in jobs.items() if n not in ended}
        wanted = [c for n, kind in open_jobs.items() if n not in called for c in self._calls(n, kind)]
        pace = self._rng.choice((0.0, 0.01, 0.04))
        if wanted:
            return calls(*wanted).slow(pace)
        # One word: a streamed answer shows its last word after the commit, so a visible end means a committed answer.
        words = " ".join(["word"] * 30 + [",".join(f"end-{n}" for n in open_jobs)])
        return text(words + ".", chunks=10).slow(pace)

    def _calls(self, number: str, kind: str) -> list[tuple[str, dict[str, object]]]:
        mark = f"mark-{number}"
        delays = {"before": round(self._rng.uniform(0, 0.4), 2), "after": round(self._rng.uniform(0, 0.4), 2)}
        mark_call = ("effects_mark", {"mark": mark, **delays})
        clock_call = ("current_time", {"timezone": "UTC"})
        write_call = ("write_file", {"path": f"{mark}.txt", "content": mark})
        post_call = ("post_message", {"channel": "C0GENERAL", "text": mark})
        plans = {
            "talk": [],
            "mark": [mark_call],
            "clock": [clock_call, mark_call],
            "ask": [write_call],
            "post": [post_call],
        }
        return {**plans, "both": [mark_call, write_call]}[kind]
