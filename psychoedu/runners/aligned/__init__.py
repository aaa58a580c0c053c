"""AlignED's evaluations: neuromyths, diagnostic reasoning, teacher certification, comparative judgement, grading."""
