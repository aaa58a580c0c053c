"""Standard setting: nothing here yet; planned are bookmark and Angoff cut scores, and classification into levels."""
