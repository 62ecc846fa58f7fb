/** The words of a tool whose request and answer are those of a route under /api/webhooks. */
interface ToolWords {
  readonly title: string
  readonly description: string
}

const withKey = <const Tools extends Record<string, ToolWords>>(tools: Tools) =>
  Object.fromEntries(
    Object.entries(tools).map(([name, { title, description }]) => [
      name,
      { title, description: `${description} Needs an API key; costs no calls.` },
    ]),
  ) as Record<keyof Tools, ToolWords>

/** The tools for the owner of webhooks. */
export const WEBHOOK_TOOL_WORDS = withKey({
  create_webhook: {
    title: 'New webhook',
    description:
      'Subscribes a public HTTPS address to signed deliveries of trade calls, regime shifts, scan digests or model notices. The secret that signs them is in this answer and not shown again.',
  },
  list_webhooks: {
    title: 'Own webhooks',
    description: 'The webhooks of the account, with their state.',
  },
  get_webhook: {
    title: 'One webhook',
    description: 'A webhook with its filter, state, counts, and how many signals wait.',
  },
  delete_webhook: {
    title: 'Delete a webhook',
    description: 'Removes a webhook for good; nothing is sent to it any more.',
  },
  pause_webhook: {
    title: 'Pause a webhook',
    description: 'Holds deliveries back until the webhook is resumed; signals wait meanwhile.',
  },
  resume_webhook: {
    title: 'Resume a webhook',
    description: 'Lets a paused or disabled webhook go on, where it stopped or from another point.',
  },
  rotate_webhook_secret: {
    title: 'New secret of a webhook',
    description:
      'Makes another secret for a webhook; those before it sign beside it for a while. The secret is in this answer and not shown again.',
  },
  test_webhook: {
    title: 'Test a webhook',
    description: 'Sends a sample delivery to a webhook now, and says what its endpoint answered.',
  },
  list_webhook_deliveries: {
    title: 'Deliveries of a webhook',
    description: 'Attempts to deliver to a webhook, newest first, with what came of each.',
  },
  replay_webhook_deliveries: {
    title: 'Replay deliveries of a webhook',
    description:
      'Sends deliveries of a webhook again, by their numbers or since an instant: all, or only those that failed.',
  },
  cancel_webhook_replay: {
    title: 'Cancel a replay',
    description:
      'Ends a replay of a webhook before its end: nothing more of it is sent, and the answer says how far it came.',
  },
})
