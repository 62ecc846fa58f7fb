import { AwsV4Signer } from 'aws4fetch'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { AnswerTooLong, type BoundedAnswer, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { SEGMENT_BYTES, sha256Of } from './manifest.ts'
import { anotherWasFirst, type BackupStorage, type StoredName, storageFull } from './storage.ts'

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
 * A backup in a bucket, addressed by path (`endpoint/bucket/name`), so that no name in the DNS is needed for it. A body is
 * named by its hash in the signature: what arrives changed is refused by the other side.
 */
export function openS3Storage(options: S3StorageOptions): BackupStorage {
  const bucket = new S3Bucket(options)
  const { prefix } = options
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`)
  const get = (name: string): Promise<Answer> => bucket.ask('GET', keyOf(name), { mostBytes: SEGMENT_BYTES })
  const description = `s3://${options.bucket}${prefix === '' ? '' : `/${prefix}`}`
  let hasConditions = false

  /** A server may ignore conditions: one that cannot be met, at a name of its own, shows it. */
  async function requireConditions(): Promise<void> {
    const probe = keyOf('conditions.probe')
    const answer = await bucket.ask('PUT', probe, { body: Buffer.from('-'), headers: { 'if-match': NEVER } })
    hasConditions = isUnmet(answer)
    if (hasConditions) return
    if (answer.status < 300) await bucket.ask('DELETE', probe)
    else if (answer.status !== 501 && !answer.body.includes('NotImplemented'))
      bucket.requireOk(answer, 'it cannot be written')
    throw bucket.unreachable(
      'that server makes no conditional writes (If-Match), which keep two backups from replacing one another',
      { nextStep: 'Choose a server that makes them, or back up to a folder.' },
    )
  }

  return {
    description,
    async get(name) {
      const answer = await get(name)
      // A missing bucket is no empty backup.
      if (answer.status === 404 && !answer.body.includes('NoSuchBucket')) return undefined
      return { body: bucket.requireOk(answer, `${name} cannot be read`).body, version: etagOf(answer) }
    },
    async put(name, body) {
      bucket.requireOk(await bucket.ask('PUT', keyOf(name), { body }), `${name} cannot be written`)
    },
    async replace(name, body, version) {
      if (!hasConditions) await requireConditions()
      const headers = version === undefined ? { 'if-none-match': '*' } : { 'if-match': version }
      const answer = await bucket.ask('PUT', keyOf(name), { body, headers })
      if (!isUnmet(answer)) return etagOf(bucket.requireOk(answer, `${name} cannot be written`))
      // If the answer to a write was lost, the next try meets what it wrote.
      const there = await get(name)
      if (there.status === 200 && there.body.equals(body)) return etagOf(there)
      throw anotherWasFirst(description)
    },
    async list(begin) {
      const names: StoredName[] = []
      for await (const { key, at } of bucket.list(keyOf(begin)))
        names.push({ name: prefix === '' ? key : key.slice(prefix.length + 1), at })
      return names
    },
    async remove(name) {
      const answer = await bucket.ask('DELETE', keyOf(name))
      if (answer.status !== 404) bucket.requireOk(answer, `${name} cannot be removed`)
    },
  }
}

const etagOf = ({ headers }: Answer): string => headers.get('etag') ?? ''

/** The condition of a write is not met. */
const isUnmet = ({ status, body }: Answer): boolean =>
  status === 412 || status === 409 || (status === 404 && body.includes('NoSuchKey'))

/** Requests to one bucket, signed, and repeated if they fail in passing. */
class S3Bucket {
  readonly #options: S3StorageOptions

  constructor(options: S3StorageOptions) {
    this.#options = options
  }

  /** @param key undefined for the bucket itself */
  async ask(method: string, key: string | undefined, request: Request = {}): Promise<Answer> {
    const { endpoint, bucket, sleep } = this.#options
    const url = new URL(endpoint)
    const path = [`${endpoint.pathname.replace(/\/$/, '')}/${bucket}`, ...(key === undefined ? [] : [key])]
    url.pathname = path.join('/').split('/').map(encodeURIComponent).join('/')
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
    for (let tries = 0; ; tries++) {
      const wait = RETRIES_MS[tries]
      try {
        const answer = await this.#send(method, url, request)
        if (wait === undefined || !PASSING.has(answer.status)) return answer
      } catch (error) {
        // `fetch failed` has the reason inside.
        const root = error instanceof Error && error.cause instanceof Error ? error.cause : error
        if (wait === undefined || error instanceof AnswerTooLong)
          throw this.unreachable(reasonOf(root), { cause: error })
      }
      await sleep(wait)
    }
  }

  async #send(
    method: string,
    url: URL,
    { body, headers = {}, mostBytes = ANSWER_BYTES }: Request,
  ): Promise<Answer> {
    const { credentials, region, now } = this.#options
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

  async *list(begin: string): AsyncGenerator<{ readonly key: string; readonly at: number }, void, void> {
    const seen = new Set<string>()
    const query: Record<string, string> = { 'list-type': '2', prefix: begin }
    for (;;) {
      const answer = this.requireOk(await this.ask('GET', undefined, { query }), 'it cannot be listed')
      const text = answer.body.toString('utf8')
      for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs))
        yield { key: tagIn(entry, 'Key') ?? '', at: Date.parse(tagIn(entry, 'LastModified') ?? '') }
      const token = tagIn(text, 'NextContinuationToken')
      if (token === undefined) return
      if (seen.has(token)) throw this.unreachable('it cannot be listed: its list names a page twice')
      seen.add(token)
      query['continuation-token'] = token
    }
  }

  requireOk(answer: Answer, what: string): Answer {
    if (answer.status >= 200 && answer.status < 300) return answer
    const text = answer.body.toString('utf8')
    const code = tagIn(text, 'Code')
    const reason = [answer.status, code, tagIn(text, 'Message')?.slice(0, 300)].filter(Boolean).join(' ')
    if (answer.status === 507 || code === 'QuotaExceeded' || code === 'XMinioStorageFull')
      throw storageFull(`s3://${this.#options.bucket}: ${what}`, reason)
    throw this.unreachable(`${what}: ${reason}`, this.#nextStep(answer, code, tagIn(text, 'Region')))
  }

  /** The next step, for answers that contain it. */
  #nextStep({ status, headers }: Answer, code = '', named?: string): { readonly nextStep?: string } {
    if (code === 'RequestTimeTooSkewed')
      return {
        nextStep: 'Set the clock of this machine: a signature says when it was made. Then run it again.',
      }
    const region = headers.get('x-amz-bucket-region') ?? named
    const isElsewhere = (status >= 300 && status < 400) || /Redirect$|HeaderMalformed$/.test(code)
    if (!isElsewhere || region === undefined || region === this.#options.region) return {}
    return {
      nextStep: `The bucket is in another region: set AWS_REGION=${region}, and the endpoint of that region if one is set.`,
    }
  }

  unreachable(
    why: string,
    more: { readonly cause?: unknown; readonly nextStep?: string } = {},
  ): ServiceError {
    const { bucket, endpoint } = this.#options
    const message = `s3://${bucket} at ${endpoint.host}: ${why}`
    return new ServiceError('backup_unreachable', { message, ...more })
  }
}

const ENTITIES = { lt: '<', gt: '>', quot: '"', '#39': "'", apos: "'", amp: '&' } as const

/** The text of the first such tag. */
const tagIn = (text: string, tag: string): string | undefined =>
  new RegExp(`<${tag}>([^<]*)</`)
    .exec(text)?.[1]
    ?.replaceAll(/&(lt|gt|quot|#39|apos|amp);/g, (_, name: keyof typeof ENTITIES) => ENTITIES[name])
