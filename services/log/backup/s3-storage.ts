import { resolve } from 'node:path'
import { AwsV4Signer } from 'aws4fetch'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { AnswerTooLong, type BoundedAnswer, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { openFolderStorage } from './folder-storage.ts'
import { SEGMENT_BYTES, sha256Of } from './manifest.ts'
import { anotherWasFirst, type BackupStorage, type StoredName, storageFull } from './storage.ts'

export interface S3Options {
  readonly bucket: string
  /** In front of every name, without slashes at its ends; empty for none. */
  readonly prefix: string
  /** The variables that tools of S3 read by custom (`AWS_ACCESS_KEY_ID`, …). */
  readonly environment: NodeJS.ProcessEnv
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
/** A condition that no file meets. */
const NEVER = '"0"'

type Answer = Pick<BoundedAnswer, 'status' | 'headers' | 'body'>

interface Request {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly mostBytes?: number
}

/**
 * A backup in a bucket, addressed by path (`endpoint/bucket/name`), so that no name in the DNS is needed for it. A body
 * is named by its hash in the signature: what arrives changed is refused by the other side. @throws ServiceError
 * `config_invalid`
 */
export function openS3Storage(options: S3Options): BackupStorage {
  const { bucket, prefix } = options
  const { ask, requireOk, unreachable } = openBucket(options)
  const description = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`)
  let hasConditions = false

  /** A server may ignore conditions: one that cannot be met, at a name of its own, shows it. */
  async function requireConditions(): Promise<void> {
    const probe = keyOf('conditions.probe')
    const answer = await ask('PUT', probe, { body: Buffer.from('-'), headers: { 'if-match': NEVER } })
    hasConditions = isUnmet(answer)
    if (hasConditions) return
    if (answer.status < 300) await ask('DELETE', probe)
    else if (answer.status !== 501 && !answer.body.includes('NotImplemented'))
      requireOk(answer, 'it cannot be written')
    throw unreachable(
      'that server makes no conditional writes (If-Match), which keep two backups from replacing one another',
      { nextStep: 'Choose a server that makes them, or back up to a folder.' },
    )
  }

  const get = (name: string): Promise<Answer> => ask('GET', keyOf(name), { mostBytes: SEGMENT_BYTES })
  return {
    description,
    async get(name) {
      const answer = await get(name)
      // A missing bucket is no empty backup.
      if (answer.status === 404 && !answer.body.includes('NoSuchBucket')) return undefined
      return { body: requireOk(answer, `${name} cannot be read`).body, version: etagOf(answer) }
    },
    async put(name, body) {
      requireOk(await ask('PUT', keyOf(name), { body }), `${name} cannot be written`)
    },
    async replace(name, body, version) {
      if (!hasConditions) await requireConditions()
      const headers = version === undefined ? { 'if-none-match': '*' } : { 'if-match': version }
      const answer = await ask('PUT', keyOf(name), { body, headers })
      if (!isUnmet(answer)) return etagOf(requireOk(answer, `${name} cannot be written`))
      // If the answer to a write was lost, the next try meets what it wrote.
      const there = await get(name)
      if (there.status === 200 && there.body.equals(body)) return etagOf(there)
      throw anotherWasFirst(description)
    },
    async list(begin) {
      const names = new Map<string, StoredName>()
      const query: Record<string, string> = { 'list-type': '2', prefix: keyOf(begin) }
      for (;;) {
        const known = names.size
        const text = requireOk(await ask('GET', undefined, { query }), 'it cannot be listed').body.toString()
        for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
          const name = (tagIn(entry, 'Key') ?? '').slice(prefix === '' ? 0 : prefix.length + 1)
          names.set(name, { name, at: Date.parse(tagIn(entry, 'LastModified') ?? '') })
        }
        const token = tagIn(text, 'NextContinuationToken')
        if (token === undefined) return [...names.values()]
        if (names.size === known) throw unreachable('it cannot be listed: its list names a page twice')
        query['continuation-token'] = token
      }
    },
    async remove(name) {
      const answer = await ask('DELETE', keyOf(name))
      if (answer.status !== 404) requireOk(answer, `${name} cannot be removed`)
    },
  }
}

const etagOf = ({ headers }: Answer): string => headers.get('etag') ?? ''

/** The condition of a write is not met. */
const isUnmet = ({ status, body }: Answer): boolean =>
  status === 412 || status === 409 || (status === 404 && body.includes('NoSuchKey'))

/** Requests to one bucket, and what their answers say. */
function openBucket({ bucket, environment, now, sleep }: S3Options) {
  const { send, endpoint } = signedRequests(environment, now)
  const unreachable = (why: string, more: ConstructorParameters<typeof ServiceError>[1] = {}) =>
    new ServiceError('backup_unreachable', {
      message: `s3://${bucket} at ${endpoint.host}: ${why}`,
      ...more,
    })

  /** Repeats what fails in passing. @param key undefined for the bucket itself */
  async function ask(method: string, key: string | undefined, request: Request = {}): Promise<Answer> {
    const url = new URL(endpoint)
    const path = [`${endpoint.pathname.replace(/\/$/, '')}/${bucket}`, ...(key === undefined ? [] : [key])]
    url.pathname = path.join('/').split('/').map(encodeURIComponent).join('/')
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
    for (let tries = 0; ; tries++) {
      const wait = RETRIES_MS[tries]
      try {
        const answer = await send(method, url, request)
        if (wait === undefined || !PASSING.has(answer.status)) return answer
      } catch (error) {
        // `fetch failed` has the reason inside.
        const root = error instanceof Error && error.cause instanceof Error ? error.cause : error
        if (wait === undefined || error instanceof AnswerTooLong)
          throw unreachable(reasonOf(root), { cause: error })
      }
      await sleep(wait)
    }
  }

  function requireOk(answer: Answer, what: string): Answer {
    const { status, headers, body } = answer
    if (status >= 200 && status < 300) return answer
    const text = body.toString('utf8')
    const code = tagIn(text, 'Code')
    const region = headers.get('x-amz-bucket-region') ?? tagIn(text, 'Region')
    const elsewhere = region && `(the bucket is in AWS_REGION=${region})`
    const reason = [status, code, tagIn(text, 'Message')?.slice(0, 300), elsewhere].filter(Boolean).join(' ')
    if (status === 507 || code === 'QuotaExceeded' || code === 'XMinioStorageFull')
      throw storageFull(`s3://${bucket}: ${what}`, reason)
    throw unreachable(`${what}: ${reason}`)
  }

  return { ask, requireOk, unreachable }
}

/** Signs requests as the variables say. */
function signedRequests(environment: NodeJS.ProcessEnv, now: () => number) {
  const { AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = environment
  const region = AWS_REGION ?? AWS_DEFAULT_REGION ?? 'us-east-1'
  const endpoint = URL.parse(AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL ?? `https://s3.${region}.amazonaws.com`)
  if (endpoint === null || !/^https?:$/.test(endpoint.protocol) || endpoint.username !== '')
    throw new ServiceError('config_invalid', {
      message: 'AWS_ENDPOINT_URL_S3 is no http or https address without a user',
    })
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = environment
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new ServiceError('config_invalid', {
      message: 'there are no credentials for S3: AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set',
      nextStep: 'Set both, and AWS_SESSION_TOKEN if they are temporary.',
    })
  const credentials = {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
  }

  async function send(method: string, url: URL, request: Request): Promise<Answer> {
    const { body, headers = {}, mostBytes = ANSWER_BYTES } = request
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
  return { endpoint, send }
}

const ENTITIES = { lt: '<', gt: '>', quot: '"', '#39': "'", apos: "'", amp: '&' } as const

/** The text of the first such tag. */
const tagIn = (text: string, tag: string): string | undefined =>
  new RegExp(`<${tag}>([^<]*)</`)
    .exec(text)?.[1]
    ?.replaceAll(/&(lt|gt|quot|#39|apos|amp);/g, (_, name: keyof typeof ENTITIES) => ENTITIES[name])

const S3_ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/

/** A folder, or a bucket: `s3://bucket/prefix`. @throws ServiceError `config_invalid` */
export function openStorage(address: string, options: Omit<S3Options, 'bucket' | 'prefix'>): BackupStorage {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return openFolderStorage(resolve(address))
  const [, bucket, prefix = ''] = S3_ADDRESS.exec(address) ?? []
  if (bucket === undefined)
    throw new ServiceError('config_invalid', {
      message: `${JSON.stringify(address.slice(0, 200))} is neither a folder nor s3://bucket/prefix`,
    })
  return openS3Storage({ ...options, bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, '') })
}
