"""Models times boards, and what ExecuTorch was measured to cost."""
