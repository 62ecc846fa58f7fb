/** The fields of a form: a list where one was sent several times. */
export function formOf(body: string): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(body)) {
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === 'string') fields[name] = [before, value]
    // In place: a copy for each would hold the process up for seconds.
    else before.push(value)
  }
  return fields
}
