import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type S3Credentials, signedHeaders } from '../s3-signature.ts'

interface Stored {
  readonly body: Buffer
  readonly modified: number
}

/** What speaks enough of S3 for a backup, and refuses what is not signed as it should be. */
export async function startS3Double(options: {
  readonly bucket: string
  readonly region: string
  readonly credentials: S3Credentials
  readonly now: () => number
}) {
  const objects = new Map<string, Stored>()
  const seen: string[] = []
  const faults: { next: number[]; full: boolean; pageKeys: number } = { next: [], full: false, pageKeys: 2 }
  const server = createServer((request, response) => {
    void reply(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body = '', headers = {} } = await answer(request)
    response.writeHead(status, { date: new Date(options.now()).toUTCString(), ...headers })
    response.end(body)
  }

  interface Said {
    readonly status: number
    readonly body?: string | Buffer
    readonly headers?: Record<string, string>
  }
  const refuse = (status: number, code: string): Said => ({
    status,
    body: `<Error><Code>${code}</Code><Message>${code} it is</Message></Error>`,
  })

  async function answer(request: IncomingMessage): Promise<Said> {
    const url = new URL(request.url ?? '', endpoint)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    seen.push(`${request.method} ${url.pathname}`)
    const fault = faults.next.shift()
    if (fault !== undefined) return refuse(fault, 'SlowDown')
    const refusal = signatureFault(request, url, body)
    if (refusal !== undefined) return refuse(403, refusal)
    const [, bucket, ...rest] = url.pathname.split('/').map(decodeURIComponent)
    if (bucket !== options.bucket) return refuse(404, 'NoSuchBucket')
    const key = rest.join('/')
    if (request.method === 'GET' && key === '') return list(url)
    const stored = objects.get(key)
    if (request.method === 'GET')
      return stored === undefined
        ? refuse(404, 'NoSuchKey')
        : {
            status: 200,
            body: stored.body,
            headers: { etag: etagOf(stored), 'last-modified': new Date(stored.modified).toUTCString() },
          }
    if (request.method === 'DELETE') {
      objects.delete(key)
      return { status: 204 }
    }
    if (request.headers['if-none-match'] === '*' && stored !== undefined)
      return refuse(412, 'PreconditionFailed')
    const match = request.headers['if-match']
    if (match !== undefined && (stored === undefined || etagOf(stored) !== match))
      return refuse(412, 'PreconditionFailed')
    if (faults.full && key.includes('log/')) return refuse(507, 'QuotaExceeded')
    const written = { body, modified: options.now() }
    objects.set(key, written)
    return { status: 200, headers: { etag: etagOf(written) } }
  }

  function signatureFault(request: IncomingMessage, url: URL, body: Buffer): string | undefined {
    const {
      authorization = '',
      'x-amz-content-sha256': payloadSha256 = '',
      'x-amz-date': date = '',
    } = request.headers as Record<string, string | undefined>
    if (createHash('sha256').update(body).digest('hex') !== payloadSha256) return 'XAmzContentSHA256Mismatch'
    const names = (/SignedHeaders=([^,]*)/.exec(authorization)?.[1] ?? '').split(';')
    const unsigned = new Set(['host', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token'])
    const headers = Object.fromEntries(
      names.filter((name) => !unsigned.has(name)).map((name) => [name, String(request.headers[name])]),
    )
    const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
    if (!(Math.abs(at - options.now()) < 900_000)) return 'RequestTimeTooSkewed'
    const expected = signedHeaders(
      { method: request.method ?? '', url, headers, payloadSha256 },
      options.credentials,
      { region: options.region, at },
    )
    return expected.authorization === authorization ? undefined : 'SignatureDoesNotMatch'
  }

  function list(url: URL): Said {
    const prefix = url.searchParams.get('prefix') ?? ''
    const from = url.searchParams.get('continuation-token') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > from).toSorted()
    const page = keys.slice(0, faults.pageKeys)
    const more = keys.length > page.length
    const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')
    const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    return { status: 200, body: `<ListBucketResult>${contents}${next}</ListBucketResult>` }
  }

  return {
    endpoint,
    objects,
    seen,
    faults,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

const etagOf = ({ body }: Stored): string => `"${createHash('md5').update(body).digest('hex')}"`
