import { z } from 'zod'

/** In which format a log is written. */
export const logFormatAnswerSchema = z.strictObject({
  /** The format in which events are written. */
  format: z.int().positive(),
  /** The newest that the answering process writes; it reads all up to it. */
  newest: z.int().positive(),
})
