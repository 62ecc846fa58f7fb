import { z } from 'zod'

/** The cursor of a list's next page, as an answer names it. It becomes part of an address, so it has a shape. */
export const cursorSchema = z.string().regex(/^[\w.~-]{1,256}$/)
