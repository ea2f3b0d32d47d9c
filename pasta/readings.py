"""How something is computed where a paper, its released code and good sense differ.

*paper* is what the text says, *released* what the published code computes, faults included, and
*corrected* what we recommend.
"""

from __future__ import annotations

from typing import Literal

Reading = Literal["paper", "released", "corrected"]
