import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { jsonSchemaTransform } from 'fastify-type-provider-zod'
import {
  type DescribedRoute,
  type OpenApiDocument,
  openApiDocument,
} from '../../http/openapi/openapi-document.ts'
import { anyObject, bodyOfType, operationsOf } from '../../http/openapi/operation.ts'
import { type PageFrame, page } from '../pages/layout.ts'
import { sendText } from '../pages/send-page.ts'
import { openApiPage } from './openapi-page.ts'

export interface OpenApiOptions {
  readonly version: string
  readonly publicUrl: () => string
  readonly frame: () => PageFrame
}

/**
 * `GET /openapi.json`: what is served, as OpenAPI 3.1, and `GET /openapi`: the same as a page. To be used before the
 * routes that are to be described.
 * @returns the document; it is complete once the app is ready.
 */
export async function useOpenApi(
  app: FastifyInstance,
  { version, publicUrl, frame }: OpenApiOptions,
): Promise<() => OpenApiDocument> {
  const routes = new Map<string, DescribedRoute>()
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: '', version } },
    exposeHeadRoutes: false,
    transform: (route) => {
      const { schema, url } = route
      const { operation, ...schemas } = schema ?? {}
      if (operation === undefined) return { schema: { hide: true }, url }
      const { method, config } = route.route
      routes.set(`${String(method)} ${url}`, { operation, isUnlimited: config?.isUnlimited === true })
      return jsonSchemaTransform({ ...route, schema: schemas })
    },
  })
  let made: { readonly url: string; readonly document: OpenApiDocument } | undefined
  // The address is known once the server listens, and does not change after that.
  const document = (): OpenApiDocument => {
    const url = publicUrl()
    if (made?.url !== url) {
      const raw = app.swagger() as Parameters<typeof openApiDocument>[0]
      made = { url, document: openApiDocument(raw, { version, publicUrl: url, routes }) }
    }
    return made.document
  }
  let shown: { readonly of: OpenApiDocument; readonly text: string } | undefined
  /** The page is large, and the same for all. */
  const pageText = (of: OpenApiDocument): string => {
    if (shown?.of !== of) shown = { of, text: page(frame(), openApiPage(of)) }
    return shown.text
  }
  const describe = operationsOf({ tag: 'service' })
  const asJson = describe('openApi', 'This description, as OpenAPI 3.1', {
    answers: { 200: { description: 'The document', content: { 'application/json': anyObject } } },
  })
  app.get('/openapi.json', { schema: { operation: asJson } }, async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=300').send(document()),
  )
  const asPage = describe('openApiPage', 'This description, as a page', {
    answers: bodyOfType('A page without scripts', 'text/html'),
  })
  app.get('/openapi', { schema: { operation: asPage } }, async (_request, reply) =>
    sendText(reply.header('cache-control', 'public, max-age=300'), pageText(document())),
  )
  return document
}
