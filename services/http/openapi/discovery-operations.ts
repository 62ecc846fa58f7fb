import { z } from 'zod'
import type { Operation, Operations } from './operation.ts'

const json = (type: string) => ({ [type]: z.record(z.string(), z.json()) })

const document = (
  id: string,
  summary: string,
  content: Record<string, z.ZodType | undefined>,
): Operation => ({
  tag: 'service',
  key: 'none',
  id,
  summary,
  errors: [],
  headers: { 'If-None-Match': 'The `ETag` of an earlier answer' },
  answers: {
    200: { description: 'The document', content },
    304: { description: 'It is still as `If-None-Match` says', content: {} },
  },
})

const CARD = json('application/mcp-server-card+json')
const TEXT = { 'text/plain': undefined }

/** What the service is found by. */
export const discoveryOperations: Operations = {
  'GET /.well-known/x402.json': {
    ...document(
      'paidResources',
      'What can be paid for here, for agents and indexers',
      json('application/json'),
    ),
    errors: ['payments_unavailable'],
  },
  'GET /server.json': document(
    'registryEntry',
    'This server as the MCP registry lists it',
    json('application/json'),
  ),
  'GET /mcp/server-card': document('serverCard', 'The card of the MCP server', CARD),
  'GET /.well-known/mcp/server-card.json': document(
    'wellKnownServerCard',
    'The same card, where some look for it',
    CARD,
  ),
  'GET /.well-known/ai-catalog.json': document(
    'aiCatalog',
    'Where the card of the MCP server is',
    json('application/ai-catalog+json'),
  ),
  'GET /.well-known/mcp-registry-auth': document(
    'registryProof',
    'Whose keys may list this domain in the MCP registry',
    TEXT,
  ),
  'GET /.well-known/oauth-protected-resource': document(
    'resourceMetadata',
    'Which server lets programs in to POST /mcp (RFC 9728)',
    json('application/json'),
  ),
  'GET /.well-known/oauth-protected-resource/mcp': document(
    'mcpResourceMetadata',
    'The same, where clients of MCP look for it',
    json('application/json'),
  ),
  'GET /.well-known/oauth-authorization-server': document(
    'authorizationServerMetadata',
    'How programs are let in (RFC 8414)',
    json('application/json'),
  ),
  'GET /.well-known/did.json': document(
    'didDocument',
    'Whose key signs the offers and receipts of this origin',
    json('application/did+json'),
  ),
  'GET /llms.txt': document('llms', 'The service in one page of Markdown, for language models', TEXT),
  'GET /llms-full.txt': document('llmsFull', 'The documentation in one file of Markdown', TEXT),
}
