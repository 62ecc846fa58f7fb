import accepts from '@fastify/accepts'
import { fastify } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { expect, test } from 'vitest'
import { PRICES } from '../../contracts/tools/prices.ts'
import { docPage } from '../knowledge/pages.ts'
import { discoveryRoutes, llmsText, serverJson } from './discovery.ts'
import { ALL_TOOL_NAMES } from './tools.ts'

const AT = { version: '1.2.3', url: 'https://signals.example.com' }

test('llms.txt and server.json name every tool, and llms.txt the pages by their readers', () => {
  const pages = [
    docPage('running', '# Running\n\nStart it.\n'),
    docPage('webhooks', '# Webhooks\n\nGet it.\n'),
  ]
  const text = llmsText(pages, AT)
  for (const name of ALL_TOOL_NAMES) expect(text.split(`- \`${name}\``).length, name).toBe(2)
  expect(ALL_TOOL_NAMES.length).toBeGreaterThan(15)
  expect(text).toContain('### Webhooks')
  expect(text.indexOf('## For subscribers')).toBeLessThan(text.indexOf('## For operators'))
  expect(text).toContain('[Webhooks](https://signals.example.com/docs/webhooks.md): Get it.')
  expect(serverJson(AT)).toMatchObject({
    _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { tools: ALL_TOOL_NAMES } },
  })
})

test('the manifest of payments names every product that is sold', async () => {
  const header = (product: string): string =>
    Buffer.from(
      JSON.stringify({ resource: { url: `${AT.url}/x402/${product}` }, accepts: [{ amount: '1' }] }),
    ).toString('base64')
  const offer = (product: string) => ({ kind: 'offer', offer: { header: header(product) } })
  const paid = {
    tools: { offer },
    plans: { offer: (tier: string) => offer(`plans/${tier}`) },
  }
  const app = fastify().setValidatorCompiler(validatorCompiler).setSerializerCompiler(serializerCompiler)
  await app.register(accepts)
  await app.register(discoveryRoutes, {
    version: AT.version,
    publicUrl: () => AT.url,
    payments: { paid: paid as never },
    mcp: {},
  })
  const { items } = (await app.inject('/.well-known/x402.json')).json<{
    items: { type: string; resource: { url: string } }[]
  }>()
  const sold = items.filter(({ type }) => type === 'http').map(({ resource }) => resource.url)
  expect(sold.toSorted()).toEqual(
    Object.keys(PRICES)
      .map((product) => `${AT.url}/x402/${product}`)
      .toSorted(),
  )
  await app.close()
})
