import { ERRORS } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { describeOperation, REST_OF_PATH } from './describe-operation.ts'
import { type OpenApiOperation, type Operation, TAGS } from './operation.ts'

/** The document of the framework, of which only the paths are taken. */
export interface RawDocument {
  readonly paths?: Readonly<Record<string, unknown>>
}

/** A route with words of its own. */
export interface DescribedRoute {
  readonly operation: Operation
  /** Whether no rate limit applies to it. */
  readonly isUnlimited: boolean
}

export interface DocumentOptions {
  readonly version: string
  /** The address under which callers reach the service; empty while it is not known. */
  readonly publicUrl: string
  /** By method and path, as in `GET /verify/:verdict_id`. */
  readonly routes: ReadonlyMap<string, DescribedRoute>
}

/** OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0), as far as it is made here. */
export interface OpenApiDocument extends JsonObject {
  readonly openapi: '3.1.0'
  readonly info: JsonObject & {
    readonly title: string
    readonly version: string
    readonly description: string
  }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: JsonObject
}

/** `/verify/{verdict_id}` as routes spell it: `/verify/:verdict_id`; the rest of an address is a star. */
const routePath = (path: string): string =>
  path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => (name === '*' ? name : `:${name}`))

/**
 * The description of the service: the schemas and the words of its routes, and the errors of the registry. Operations
 * are in the order of their tags.
 */
export function openApiDocument(
  raw: RawDocument,
  { version, publicUrl, routes }: DocumentOptions,
): OpenApiDocument {
  const found = Object.entries((raw.paths ?? {}) as Record<string, Record<string, JsonObject>>)
    .flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, own]) => {
        const route = routes.get(`${method.toUpperCase()} ${routePath(path)}`)
        return route === undefined ? [] : { path, method, own, route }
      }),
    )
    .toSorted((a, b) => TAG_ORDER.indexOf(a.route.operation.tag) - TAG_ORDER.indexOf(b.route.operation.tag))
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const { path, method, own, route } of found) {
    const documented = path.replace('{*}', `{${REST_OF_PATH}}`)
    paths[documented] = {
      ...paths[documented],
      [method]: describeOperation(method === 'get', own, route.operation, route.isUnlimited),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signal service',
      license: { name: 'All rights reserved', identifier: 'LicenseRef-All-rights-reserved' },
      version,
      description:
        'Calibrated trade calls, market regimes and scans, each recorded before it is answered and verifiable afterwards. Information, not advice.',
    },
    servers: [{ url: publicUrl === '' ? '/' : publicUrl }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: COMPONENTS,
  }
}

const TAG_ORDER = Object.keys(TAGS)

const headerOf = (description: string, example: string): JsonObject => ({
  description,
  schema: { type: 'string' },
  example,
})

const COMPONENTS: JsonObject = {
  securitySchemes: {
    key: {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key: `Authorization: Bearer sk_live_…`',
    },
    operator: {
      type: 'http',
      scheme: 'bearer',
      description: 'The token of the operator: `Authorization: Bearer …`, as OPERATOR_TOKEN has it',
    },
  },
  headers: {
    RateLimitPolicy: headerOf(
      'The limits that apply: `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers-10)',
      '"address";q=100;w=1',
    ),
    RateLimit: headerOf('What is left of each: `r` requests for `t` seconds', '"address";r=99;t=1'),
    RetryAfter: headerOf('Seconds to wait before the request is sent again', '1'),
    RequestId: headerOf(
      'Names this request in the log; give it when you report a fault',
      '01a1fc5e-badc-7a0b-9593-25b8e98b0c7b',
    ),
  },
  schemas: {
    Error: {
      type: 'object',
      description: 'The body of every refusal',
      properties: {
        code: { type: 'string', enum: Object.keys(ERRORS), description: 'What happened, for programs' },
        message: { type: 'string', description: 'What happened in particular, for people' },
        next_step: { type: 'string', description: 'What to do about it' },
        details: { type: 'object', description: 'More, for programs; depends on the code' },
        request_id: { type: 'string', description: 'Names this request in the log' },
      },
      required: ['code', 'message'],
    },
  },
}
