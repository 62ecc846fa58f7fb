/**
 * One event as the file holds it: position, stream, revision, type, schema, id, when it was appended, data and meta. Data
 * and meta are JSON, or blanks where the event was erased.
 */
export type StoredRow = readonly [
  position: number,
  stream: string,
  revision: number,
  type: string,
  schema: number,
  id: string,
  at: string,
  data: string,
  meta: string,
]
