import { defineErrors } from './error-definition.ts'

/** Refusals of search and chat. Their codes are capital, as callers of these two routes know them. */
export const KNOWLEDGE_ERRORS = defineErrors({
  INVALID_QUERY: {
    status: 400,
    message: 'The search cannot be read.',
    nextStep:
      'Send `{"query": "…", "limit": 10}`: a text with at least one word in it, and a limit from 1 to 50.',
  },
  QUERY_TOO_SHORT: {
    status: 400,
    message: 'The query is too short to search for.',
    nextStep: 'Give at least 3 characters.',
  },
  QUERY_TOO_LONG: {
    status: 400,
    message: 'The query is too long.',
    nextStep: 'Give at most 500 characters; a few words find more.',
  },
  INVALID_QUESTION: {
    status: 400,
    message: 'The question cannot be read.',
    nextStep: 'Send `{"question": "…"}`: a text with at least one word in it.',
  },
  QUESTION_TOO_SHORT: {
    status: 400,
    message: 'The question is too short to be answered.',
    nextStep: 'Give at least 5 characters.',
  },
  QUESTION_TOO_LONG: {
    status: 400,
    message: 'The question is too long.',
    nextStep: 'Give at most 500 characters; ask one thing at a time.',
  },
  INVALID_MODEL: {
    status: 400,
    message: 'There is no model of this name.',
    nextStep: 'Choose one of the models in `details.available`, or leave `model` out.',
  },
  CHAT_QUOTA_EXHAUSTED: {
    status: 429,
    message: 'No chats are left in this window.',
    nextStep:
      'Wait until `details.resets_at`, choose a larger plan, or use the search, which has no such limit.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something failed that should not have, and nothing was counted.',
    nextStep: 'Try again; if it stays, report the `request_id`.',
  },
})
