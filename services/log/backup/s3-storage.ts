import { AwsV4Signer } from 'aws4fetch'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { AnswerTooLong, type BoundedAnswer, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { anotherWasFirst, SEGMENT_BYTES, sha256Of } from './segment.ts'
import type { BackupStorage, StoredName } from './storage.ts'

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Temporary credentials have one. */
  readonly sessionToken?: string
}

export interface S3StorageOptions {
  readonly bucket: string
  /** In front of every name, without slashes at its ends; empty for none. */
  readonly prefix: string
  /** `https://s3.eu-central-1.amazonaws.com`, or another server that speaks S3. */
  readonly endpoint: URL
  readonly region: string
  readonly credentials: S3Credentials
  readonly now: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
}

const REQUEST_MS = 120_000
/** One page of a list has a thousand names of a kilobyte; refusals are shorter. */
const ANSWER_BYTES = 8_388_608
/** Waits between tries of a request that failed in passing. */
const RETRIES_MS = [250, 1_000, 4_000] as const
/** Statuses that may be another a moment later; a server that lacks a feature (501) or is full (507) says so again. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])
const NEVER = '"0"'

type Answer = Pick<BoundedAnswer, 'status' | 'headers' | 'body'>

interface AskMore {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly mostBytes?: number
}

/**
 * A backup in a bucket, asked by path (`endpoint/bucket/name`), so that no name in the DNS is needed for it. A body is named
 * by its hash in the signature: what arrives changed is refused by the other side.
 */
export function openS3Storage(options: S3StorageOptions): BackupStorage {
  const { bucket, prefix, endpoint } = options
  const root = `${endpoint.pathname.replace(/\/$/, '')}/${bucket}`
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`)
  const description = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`

  async function ask(method: string, path: string, more: AskMore = {}): Promise<Answer> {
    const url = new URL(endpoint)
    url.pathname = path.split('/').map(encodeURIComponent).join('/')
    for (const [name, value] of Object.entries(more.query ?? {})) url.searchParams.set(name, value)
    for (let tries = 0; ; tries++) {
      const wait = RETRIES_MS[tries]
      try {
        const answer = await once(options, method, url, more)
        if (wait === undefined || !PASSING.has(answer.status)) return answer
      } catch (error) {
        if (wait === undefined || error instanceof AnswerTooLong)
          throw unreachable(options, reasonOf(rootOf(error)), error)
      }
      await options.sleep(wait)
    }
  }
  const pathOf = (name: string): string => `${root}/${keyOf(name)}`
  const read = (name: string): Promise<Answer> => ask('GET', pathOf(name), { mostBytes: SEGMENT_BYTES })

  let hasConditions = false

  /** A server may ignore conditions: one that cannot be met, at a name of its own, shows it. */
  async function requireConditions(): Promise<void> {
    if (hasConditions) return
    const probe = pathOf('conditions.probe')
    const answer = await ask('PUT', probe, { body: Buffer.from('-'), headers: { 'if-match': NEVER } })
    hasConditions = isRefused(answer)
    if (hasConditions) return
    if (answer.status < 300) await ask('DELETE', probe)
    else if (!lacksConditions(answer)) requireOk(options, answer, 'cannot be written')
    throw noConditions(options)
  }

  return {
    description,
    async get(name) {
      const answer = await read(name)
      // A missing bucket is no empty backup.
      if (answer.status === 404 && !answer.body.includes('NoSuchBucket')) return undefined
      const { body } = requireOk(options, answer, `${name} cannot be read`)
      return { body, version: etagOf(answer) }
    },
    async put(name, body) {
      requireOk(options, await ask('PUT', pathOf(name), { body }), `${name} cannot be written`)
    },
    async replace(name, body, version) {
      await requireConditions()
      const headers = version === undefined ? { 'if-none-match': '*' } : { 'if-match': version }
      const answer = await ask('PUT', pathOf(name), { body, headers })
      if (!isRefused(answer)) return etagOf(requireOk(options, answer, `${name} cannot be written`))
      // Where the answer to a write was lost, the next try meets what it wrote.
      const there = await read(name)
      if (there.status === 200 && there.body.equals(body)) return etagOf(there)
      throw anotherWasFirst(description)
    },
    list: (begin) => listNames(options, keyOf(begin), (query) => ask('GET', root, { query })),
    async remove(name) {
      const answer = await ask('DELETE', pathOf(name))
      if (answer.status !== 404) requireOk(options, answer, `${name} cannot be removed`)
    },
  }
}

async function listNames(
  options: S3StorageOptions,
  begin: string,
  ask: (query: Readonly<Record<string, string>>) => Promise<Answer>,
): Promise<StoredName[]> {
  const names: StoredName[] = []
  const seen = new Set<string>()
  const cut = options.prefix === '' ? 0 : options.prefix.length + 1
  const query: Record<string, string> = { 'list-type': '2', prefix: begin }
  for (;;) {
    const answer = requireOk(options, await ask(query), 'cannot be listed')
    const text = answer.body.toString('utf8')
    for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
      const name = unescaped(/<Key>([^<]*)</.exec(entry)?.[1] ?? '')
      const at = Date.parse(/<LastModified>([^<]*)</.exec(entry)?.[1] ?? '')
      names.push({ name: name.slice(cut), at })
    }
    const [, next] = /<NextContinuationToken>([^<]*)</.exec(text) ?? []
    if (next === undefined) return names
    const token = unescaped(next)
    if (seen.has(token)) throw unreachable(options, 'cannot be listed: its list names a page twice')
    seen.add(token)
    query['continuation-token'] = token
  }
}

async function once(
  { credentials, region, now }: S3StorageOptions,
  method: string,
  url: URL,
  { body, headers = {}, mostBytes = ANSWER_BYTES }: AskMore,
): Promise<Answer> {
  const signer = new AwsV4Signer({
    ...credentials,
    method,
    url: url.href,
    service: 's3',
    region,
    datetime: new Date(now()).toISOString().replaceAll(/[-:]|\.\d{3}/g, ''),
    headers: { ...headers, 'x-amz-content-sha256': sha256Of(body ?? '') },
  })
  const signed = await signer.sign()
  // The signature is for this host only: a redirect is reported and not followed.
  const init = { method, headers: signed.headers, redirect: 'manual' } as const
  const sent = body === undefined ? init : { ...init, body: new Uint8Array(body) }
  return boundedFetch(signed.url, sent, { timeMs: REQUEST_MS, mostBytes })
}

const etagOf = ({ headers }: Answer): string => headers.get('etag') ?? ''

const lacksConditions = ({ status, body }: Answer): boolean =>
  status === 501 || (status === 400 && body.includes('NotImplemented'))

/** The condition of a write is not met. */
const isRefused = ({ status, body }: Answer): boolean =>
  status === 412 || status === 409 || (status === 404 && body.includes('NoSuchKey'))

const noConditions = ({ bucket, endpoint }: S3StorageOptions): ServiceError =>
  new ServiceError('backup_unreachable', {
    message: `s3://${bucket} at ${endpoint.host}: that server makes no conditional writes (If-Match), which keep two backups from replacing one another`,
    nextStep: 'Choose a server that makes them, or back up to a folder.',
  })

function requireOk(options: S3StorageOptions, answer: Answer, what: string): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer
  const text = answer.body.toString('utf8')
  const code = /<Code>([^<]{1,100})<\/Code>/.exec(text)?.[1]
  const said = /<Message>([^<]{1,300})<\/Message>/.exec(text)?.[1]
  const reason = [String(answer.status), code, said].filter((part) => part !== undefined).join(' ')
  if (answer.status === 507 || code === 'QuotaExceeded' || code === 'XMinioStorageFull') {
    throw new ServiceError('store_full', {
      message: `s3://${options.bucket}: ${what}: it is full (${reason})`,
      nextStep: 'Make room there and run the same command again: it goes on where it was.',
    })
  }
  throw unreachable(options, `${what}: ${reason}`, undefined, nextStepOf(options, answer, code))
}

const ELSEWHERE = new Set(['PermanentRedirect', 'TemporaryRedirect', 'AuthorizationHeaderMalformed'])

/** The next step, for answers that contain it. */
function nextStepOf(
  { region }: S3StorageOptions,
  { status, headers, body }: Answer,
  code: string | undefined,
): string | undefined {
  if (code === 'RequestTimeTooSkewed')
    return 'Set the clock of this machine: a signature says when it was made. Then run the same command again.'
  const isElsewhere = (status >= 300 && status < 400) || (code !== undefined && ELSEWHERE.has(code))
  const there =
    headers.get('x-amz-bucket-region') ?? /<Region>([\w-]{1,60})<\/Region>/.exec(body.toString())?.[1]
  if (!isElsewhere || there === undefined || there === region) return undefined
  return `The bucket is in another region: set AWS_REGION=${there}, and the endpoint of that region where one is set.`
}

const unreachable = (
  { bucket, endpoint }: S3StorageOptions,
  why: string,
  cause?: unknown,
  nextStep?: string,
): ServiceError =>
  new ServiceError('backup_unreachable', {
    message: `s3://${bucket} at ${endpoint.host}: ${why}`,
    cause,
    ...(nextStep !== undefined && { nextStep }),
  })

/** `fetch failed` has the reason inside. */
const rootOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? error.cause : error

const ENTITIES = { lt: '<', gt: '>', quot: '"', '#39': "'", apos: "'", amp: '&' } as const

const unescaped = (text: string): string =>
  text.replaceAll(/&(lt|gt|quot|#39|apos|amp);/g, (_, name: keyof typeof ENTITIES) => ENTITIES[name])
