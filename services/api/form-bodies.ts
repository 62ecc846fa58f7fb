/** The fields of a form: a list where one was sent several times. */
export function formOf(body: string): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(body)) {
    const before = fields[name]
    fields[name] = before === undefined ? value : [...[before].flat(), value]
  }
  return fields
}
