import { z } from 'zod'

/** The cursor of a list's next page, as an answer names it. It becomes part of an address, so it has a shape. */
export const cursorSchema = z.string().regex(/^[\w.~-]{1,256}$/)

/** The cursor of the next page of a list. */
export const nextSchema = z
  .string()
  .nullable()
  .describe('Give it as `after` for the rows after these; null at the end')
