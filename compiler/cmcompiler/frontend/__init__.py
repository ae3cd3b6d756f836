"""torch → .pte: quantisation, export, lowering; only this and the zoo import torch."""
