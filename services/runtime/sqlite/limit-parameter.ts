/**
 * The end of a statement whose limit is a parameter. Of a plain `LIMIT ?` SQLite looks at the number that is bound, to
 * plan by it, and so prepares the whole statement anew each time it is run: three times the cost of looking a row
 * up. It does not look into a sum.
 */
export const LIMIT_PARAMETER = 'LIMIT ? + 0'
