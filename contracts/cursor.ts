import { z } from 'zod'

/** Where a list goes on, as an answer names it: it goes into an address, so it has a shape. */
export const cursorSchema = z.string().regex(/^[\w.~-]{1,256}$/)
