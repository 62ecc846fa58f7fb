/** Begins the names of streams that hold the key of what is personal. The thread of the writer loads this file, and no schemas. */
export const SUBJECT_PREFIX = 'subject-'

/** Whether a stream can be erased; it is then read by name only. */
export const isErasable = (stream: string): boolean => stream.startsWith(SUBJECT_PREFIX)
