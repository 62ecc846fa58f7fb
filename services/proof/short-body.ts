/** The body of an answer. @throws Error for one that is longer than so many bytes */
export async function shortBody(response: Response, mostBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > mostBytes) throw new Error(`its answer is longer than ${mostBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
