"""Example files and scripts: two trajectories with questions, a plan as an outline, notes, programs of users."""
