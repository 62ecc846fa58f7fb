import { z } from 'zod'
import type { ErrorCode } from '../../../contracts/errors.ts'
import { chatKnowledgeRequest } from '../../../contracts/tools/chat-knowledge.ts'
import { searchKnowledgeRequest } from '../../../contracts/tools/search-knowledge.ts'
import type { Operations } from './operation.ts'

/** What search and chat can both refuse with. */
const COMMON_ERRORS = [
  'unauthorized',
  'key_unknown',
  'key_unverifiable',
  'payload_too_large',
  'unsupported_media_type',
  'INTERNAL_ERROR',
] as const satisfies readonly ErrorCode[]

const page = {
  200: { description: 'A page without scripts', content: { 'text/html': undefined } },
  304: { description: 'It is still as `If-None-Match` says', content: {} },
} as const

const ifNoneMatch = { 'If-None-Match': 'The `ETag` of an earlier answer' }

export const knowledgeOperations: Operations = {
  'POST /api/search': {
    id: 'search',
    tag: 'knowledge',
    summary: 'Sections of the documentation that fit some words',
    description:
      'Costs no calls of the plan. The answer says nothing about the caller and may be kept for five minutes.',
    key: 'required',
    errors: [...COMMON_ERRORS, 'INVALID_QUERY', 'QUERY_TOO_SHORT', 'QUERY_TOO_LONG'],
    body: searchKnowledgeRequest,
    bodyExample: { query: 'webhook signature', limit: 5 },
  },
  'POST /api/chat': {
    id: 'chat',
    tag: 'knowledge',
    summary: 'An answer to one question, from the documentation',
    description:
      'Counts one chat of the account where it was answered, and none where the documentation does not say. Calls of the plan are another matter and are not touched.',
    key: 'required',
    errors: [
      ...COMMON_ERRORS,
      'INVALID_QUESTION',
      'QUESTION_TOO_SHORT',
      'QUESTION_TOO_LONG',
      'INVALID_MODEL',
      'CHAT_QUOTA_EXHAUSTED',
      'invalid_request',
      'idempotency_mismatch',
      'store_unavailable',
      'store_full',
    ],
    headers: {
      'Idempotency-Key':
        'Up to 255 visible ASCII characters, new for every new question: the same question sent again with it gets the stored answer and is not counted again',
    },
    body: chatKnowledgeRequest,
    bodyExample: { question: 'Does a HOLD count against my quota?' },
  },
  'GET /docs': {
    id: 'docs',
    tag: 'knowledge',
    summary: 'The pages of the documentation',
    key: 'none',
    errors: [],
    headers: ifNoneMatch,
    answers: page,
  },
  'GET /docs/examples/:file': {
    id: 'docsExample',
    tag: 'knowledge',
    summary: 'A program that the documentation shows',
    key: 'none',
    errors: ['invalid_request', 'not_found'],
    parameters: { file: 'Name of the file, as in `bot.py`' },
    answers: { 200: { description: 'The program', content: { 'text/plain': undefined } } },
  },
  'GET /docs/events/:file': {
    id: 'eventSchema',
    tag: 'knowledge',
    summary: 'The JSON Schema of one event of the log',
    key: 'none',
    errors: ['invalid_request', 'not_found'],
    parameters: { file: 'Type of the event, as in `VerdictRecorded.json`' },
    headers: ifNoneMatch,
    answers: {
      200: {
        description: 'The schema of its `data`',
        content: { 'application/schema+json': z.record(z.string(), z.json()) },
      },
      304: { description: 'It is still as `If-None-Match` says', content: {} },
    },
  },
  'GET /docs/:page': {
    id: 'docsPage',
    tag: 'knowledge',
    summary: 'One page of the documentation, with an anchor for every section',
    key: 'none',
    errors: ['invalid_request', 'not_found'],
    parameters: { page: 'Name of the page, as in `quotas`' },
    headers: ifNoneMatch,
    answers: page,
  },
}
