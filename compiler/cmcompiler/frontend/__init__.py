"""torch → .pte: quantisation, export, lowering; with the zoo, the only code that imports torch."""
