import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { jsonSchemaTransform } from 'fastify-type-provider-zod'
import { sendPublic } from '../send-public.ts'
import { type DescribedRoute, type OpenApiDocument, openApiDocument } from './openapi-document.ts'
import { anyObject, operationsOf, revalidated } from './operation.ts'

export interface OpenApiOptions {
  readonly version: string
  readonly publicUrl: () => string
}

/**
 * `GET /openapi.json`: what is served, as OpenAPI 3.1. To be used before the routes that are to be described.
 * @returns the document; it is complete once the app is ready.
 */
export async function useOpenApi(
  app: FastifyInstance,
  { version, publicUrl }: OpenApiOptions,
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
  let made: { readonly url: string; readonly document: OpenApiDocument; readonly text: string } | undefined
  // The address is known once the server listens, and does not change after that.
  const described = () => {
    const url = publicUrl()
    if (made?.url === url) return made
    const raw = app.swagger() as Parameters<typeof openApiDocument>[0]
    const document = openApiDocument(raw, { version, publicUrl: url, routes })
    made = { url, document, text: JSON.stringify(document) }
    return made
  }
  const operation = operationsOf({ tag: 'service' })('openApi', 'This description, as OpenAPI 3.1', {
    ...revalidated('The document', 'application/json', anyObject),
  })
  app.get('/openapi.json', { schema: { operation } }, async (request, reply) =>
    sendPublic(request, reply, 'application/json; charset=utf-8', described().text),
  )
  return () => described().document
}
