import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AwsV4Signer } from 'aws4fetch'

interface Stored {
  readonly body: Buffer
  readonly modified: number
}

/** A server that speaks enough of S3 for a backup, and refuses requests without a valid signature. */
export async function startS3Double(options: {
  readonly bucket: string
  readonly region: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
  readonly now: () => number
}) {
  const objects = new Map<string, Stored>()
  let clock = options.now
  const seen: string[] = []
  const faults: {
    /** Statuses that the next requests are answered with, instead of being done. */
    next: number[]
    /** How many writes from now on are done and then answered with 500, as where a proxy in between gives up. */
    unsaid: number
    full: boolean
    pageKeys: number
    /** Its treatment of `if-none-match` and `if-match` at a write: OpenStack Swift refuses them, others ignore them. */
    conditions: 'kept' | 'refused' | 'ignored'
    /** The new place of the bucket, in a redirect. */
    movedTo?: string
    /** Answers have no end: they go on until the connection is closed. */
    endless?: boolean
    /** Each page of a list names this one as the next. */
    nextPage?: string
  } = { next: [], unsaid: 0, full: false, pageKeys: 2, conditions: 'kept' }
  const server = createServer((request, response) => {
    void reply(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body = '', headers = {} } = await answer(request)
    response.writeHead(status, { date: new Date(clock()).toUTCString(), ...headers })
    if (faults.endless !== true) response.end(body)
    else
      await pipeline(Readable.from(repeated(Buffer.alloc(1_048_576, ' '))), response).catch(() => undefined)
  }

  interface Said {
    readonly status: number
    readonly body?: string | Buffer
    readonly headers?: Record<string, string>
  }
  const refuse = (status: number, code: string, more = ''): Said => ({
    status,
    body: `<Error><Code>${code}</Code><Message>${code} it is</Message>${more}</Error>`,
  })

  async function answer(request: IncomingMessage): Promise<Said> {
    const url = new URL(request.url ?? '', endpoint)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    seen.push(`${request.method} ${url.pathname}`)
    const fault = faults.next.shift()
    if (fault !== undefined) return refuse(fault, 'SlowDown')
    if (faults.movedTo !== undefined) {
      const said = refuse(301, 'PermanentRedirect')
      return { ...said, headers: { 'x-amz-bucket-region': faults.movedTo, location: endpoint } }
    }
    const refusal = await signatureFault(request, url, body)
    if (refusal === 'AuthorizationHeaderMalformed')
      return refuse(400, refusal, `<Region>${options.region}</Region>`)
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
    const refusedWrite = conditionFault(request, stored)
    if (refusedWrite !== undefined) return refusedWrite
    if (faults.full && key.includes('log/')) return refuse(507, 'QuotaExceeded')
    const written = { body, modified: clock() }
    objects.set(key, written)
    if (faults.unsaid > 0) {
      faults.unsaid -= 1
      return refuse(500, 'InternalError')
    }
    return { status: 200, headers: { etag: etagOf(written) } }
  }

  function conditionFault(request: IncomingMessage, stored: Stored | undefined): Said | undefined {
    const { 'if-none-match': noneMatch, 'if-match': match } = request.headers
    if ((noneMatch ?? match) === undefined || faults.conditions === 'ignored') return undefined
    if (faults.conditions === 'refused') return refuse(501, 'NotImplemented')
    const isMet = noneMatch === '*' ? stored === undefined : stored !== undefined && etagOf(stored) === match
    return isMet ? undefined : refuse(412, 'PreconditionFailed')
  }

  async function signatureFault(
    request: IncomingMessage,
    url: URL,
    body: Buffer,
  ): Promise<string | undefined> {
    const {
      authorization = '',
      'x-amz-content-sha256': payloadSha256 = '',
      'x-amz-date': datetime = '',
    } = request.headers as Record<string, string | undefined>
    if (createHash('sha256').update(body).digest('hex') !== payloadSha256) return 'XAmzContentSHA256Mismatch'
    const [, keyId, region] = /Credential=([^/]*)\/\d+\/([^/]*)\//.exec(authorization) ?? []
    if (region !== options.region) return 'AuthorizationHeaderMalformed'
    if (keyId !== options.credentials.accessKeyId) return 'InvalidAccessKeyId'
    const at = Date.parse(datetime.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
    if (!(Math.abs(at - clock()) < 900_000)) return 'RequestTimeTooSkewed'
    const names = (/SignedHeaders=([^,]*)/.exec(authorization)?.[1] ?? '').split(';')
    const made = new Set(['host', 'x-amz-date', 'x-amz-security-token'])
    const headers = names
      .filter((name) => !made.has(name))
      .map((name) => [name, String(request.headers[name])])
    const signer = new AwsV4Signer({
      ...options.credentials,
      method: request.method ?? '',
      url: url.href,
      headers: headers as [string, string][],
      service: 's3',
      region,
      datetime,
    })
    return (await signer.authHeader()) === authorization ? undefined : 'SignatureDoesNotMatch'
  }

  function list(url: URL): Said {
    const prefix = url.searchParams.get('prefix') ?? ''
    const from = url.searchParams.get('continuation-token') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > from).toSorted()
    const page = keys.slice(0, faults.pageKeys)
    const more = keys.length > page.length
    const contents = page
      .map((key) => {
        const at = new Date(objects.get(key)?.modified ?? 0).toISOString()
        return `<Contents><Key>${key}</Key><LastModified>${at}</LastModified></Contents>`
      })
      .join('')
    const token = faults.nextPage ?? (more ? page.at(-1) : undefined)
    const next = token === undefined ? '' : `<NextContinuationToken>${token}</NextContinuationToken>`
    return { status: 200, body: `<ListBucketResult>${contents}${next}</ListBucketResult>` }
  }

  return {
    endpoint,
    objects,
    seen,
    faults,
    setClock: (other: () => number) => void (clock = other),
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

const etagOf = ({ body }: Stored): string => `"${createHash('md5').update(body).digest('hex')}"`

function* repeated(part: Buffer): Generator<Buffer, void, void> {
  for (;;) yield part
}
