/**
 * Ends a statement whose limit is a parameter. For a plain `LIMIT ?` SQLite prepares the statement anew at each run, to
 * plan by the bound number; it does not look into a sum.
 */
export const LIMIT_PARAMETER = 'LIMIT ? + 0'
