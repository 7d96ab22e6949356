"""Fine-tuning: tasks, regimens, and what training changes."""
