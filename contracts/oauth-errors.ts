import { defineErrors } from './error-definition.ts'

/** Refusals about programs that act for accounts; those of OAuth's own endpoints have OAuth's own codes. */
export const OAUTH_ERRORS = defineErrors({
  too_many_apps: {
    status: 409,
    message: 'The account lets as many programs act for it as it may.',
    nextStep:
      'End one that is no longer used on the account page or with DELETE /api/apps/:id, then try again.',
  },
  grant_refused: {
    status: 400,
    message: 'The code or the token does not hold.',
    nextStep: 'Ask the owner of the account to let the program in anew.',
  },
  token_elsewhere: {
    status: 401,
    message: 'An access token is for POST /mcp and nothing else.',
    nextStep: 'Use an API key here: keys are made on the account page or with POST /api/keys.',
  },
})
