import { connect } from 'node:net'

/** The answer on a connection. */
export interface RawAnswer {
  /** Undefined where nothing came back that is an answer. */
  readonly status: number | undefined
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  /** The connection was still open when the time was over. */
  readonly isHanging: boolean
}

export interface SendOptions {
  readonly port: number
  /** Hangs up once everything is sent. */
  readonly isAbandoned: boolean
  /** After so long without an end, a connection counts as hanging. */
  readonly timeoutMs: number
}

/** Sends bytes on a connection of their own, and reads until the other end hangs up or has answered wholly. */
export function sendBytes(bytes: Buffer, { port, isAbandoned, timeoutMs }: SendOptions): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let isHanging = false
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes, () => {
        if (isAbandoned) socket.destroy()
      })
    })
    socket.setTimeout(timeoutMs, () => {
      isHanging = true
      socket.destroy()
    })
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (isComplete(Buffer.concat(chunks))) socket.destroy()
    })
    // A reset is an end like any other; what came before it is judged.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve({ ...parseAnswer(Buffer.concat(chunks)), isHanging }))
  })
}

/** Whether an answer that says its length has arrived wholly; one of no length ends with its connection. */
function isComplete(bytes: Buffer): boolean {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /^content-length: *(\d+)/im.exec(bytes.subarray(0, end).toString('latin1'))?.[1]
  return length !== undefined && bytes.length >= end + 4 + Number(length)
}

function parseAnswer(bytes: Buffer): Omit<RawAnswer, 'isHanging'> {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = (end < 0 ? '' : bytes.subarray(0, end).toString('latin1')).split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const rest = end < 0 ? Buffer.alloc(0) : bytes.subarray(end + 4)
  const isChunked = headers.get('transfer-encoding') === 'chunked'
  return {
    status: status === undefined ? undefined : Number(status),
    headers,
    body: isChunked ? unchunked(rest) : rest.toString(),
  }
}

/** The body behind its chunks (RFC 9112 §7.1), as far as it came. */
function unchunked(bytes: Buffer): string {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const line = bytes.indexOf('\r\n', at)
    const length = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    if (line < 0 || !(length > 0)) break
    parts.push(bytes.subarray(line + 2, line + 2 + length))
    at = line + 2 + length + 2
  }
  return Buffer.concat(parts).toString()
}
