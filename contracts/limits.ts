/** Every limit of the service, in one place. Units are in the names. */
export const LIMITS = {
  coinCharacters: 20,
  /** Longest name of a coin, exchange or timeframe in a request, before it is known whether it exists. */
  nameCharacters: 32,
  /** Names of what exists that a refusal lists. */
  namesInRefusal: 100,

  /** Bars a series needs before it may have a verdict: a cold start then differs by less than 0.001. */
  warmUpBars: 500,
  /** Bars the volatility percentile looks back on, at most. */
  volatilityBars: 1_500,
  /** Bars after which a series is as if it had no beginning: those, and what the ATR needs to forget its own. */
  historyBars: 1_620,
  /** Bars of each series that the clock of a simulated market is run through at most, at the first start. */
  runBars: 305,

  universeCoins: 500,
  /** How far back bars are fetched for verdicts whose outcome is open; older ones are labelled incomplete. */
  outcomeBackfillMs: 7 * 86_400_000,
  /**
   * How long an engine leaves a bar to the one that records its exchange, before it records it itself: longer than it
   * takes to take over from one that is gone; and where it did so for the bar before, since the other does not follow
   * the series.
   */
  recordTakeOverMs: 15_000,
  recordStandInMs: 1_000,
  /** How long after its window closed a verdict waits for bars of a coin that its venue does not list. */
  outcomeGoneMs: 86_400_000,
  /** Beyond its bar's length, how late a series' newest bar may be before it is refused as stale. */
  staleAfterMs: 180_000,
  seriesOnDemand: 2_000,
  /** Series on demand because of one payer: as many as one scan reads. */
  seriesOnDemandPerPayer: 100,
  /** How long a series is followed after it was last asked for. */
  onDemandKeepMs: 3_600_000,
  /** How long a process that has begun is not ready because the history of its market is still being read. */
  marketWarmUpMs: 60_000,
  /** How long a tool call waits for a series that is not followed yet. */
  onDemandWaitMs: 10_000,
  /** How long a process that computes may say nothing before a call is asked of another one as well. */
  engineHedgeMs: 2_000,
  scanCoins: 100,
  fundingRows: 200,

  venueRequestMs: 10_000,
  /** Largest answer of a venue that is read; lists of markets take a few megabytes. */
  venueResponseBytes: 33_554_432,
  venueRequestsAtOnce: 8,
  venueAttempts: 4,
  /** Wait before a second try; it doubles from try to try, up to the longest. */
  venueRetryMs: 500,
  venueRetryMaxMs: 10_000,
  /** Longest wait that a venue may ask for. */
  venueRetryAfterMs: 86_400_000,
  /** Failed requests in a row after which a venue is left alone. */
  venueFailuresInARow: 6,
  /** How long it is left alone at first; it doubles while it goes on failing, up to the longest. */
  venuePauseMs: 5_000,
  venuePauseMaxMs: 300_000,
  /** How long it is left alone at first where it does not let us in. */
  venueBarredMs: 60_000,
  /** How far ahead requests are planned within a venue's rate; past it a step of the clock is assumed. */
  venueBudgetAheadMs: 3_600_000,
  /** After a bar has closed, how long a venue is given to finish it. */
  venueSettleMs: 2_000,
  /** How long live bars wait for slower venues; what comes later is delivered as late. */
  venueLagMs: 15_000,
  /** Bars of the shortest timeframe of a history that are in memory at a time, where pages are no longer than that. */
  venuePageBars: 1_000,
  /** How long a start waits for a venue's history before it goes on and takes it late. */
  venueBackfillMs: 900_000,
  /** For how long before a start funding is fetched. */
  venueFundingMs: 37 * 86_400_000,
  /** How often a venue's list of markets is fetched, and how often at most when a symbol fails. */
  venueMarketsMs: 3_600_000,
  venueMarketsLeastMs: 300_000,
  /** How long all its lists must lack a coin, and no bar of it come, before it is gone for good. */
  venueGoneMs: 86_400_000,
  /** How long a ranking of a venue's coins is good for. */
  venueUniverseMs: 60_000,

  appendEvents: 256,
  /** Encoded size of one append; EventStoreDB takes 1 MiB, of which its metadata needs some. */
  appendBytes: 900_000,
  streamNameCharacters: 250,
  jsonDepth: 32,
  /** Appends waiting for an answer of the store; past it callers are refused with `store_unavailable`. */
  appendQueue: 16_384,
  commitAppends: 512,
  commitBytes: 4_194_304,
  /** How long an append to a remote store may stay without an answer before its outcome is unknown. */
  appendTimeoutMs: 10_000,
  readPageEvents: 500,
  /** Newest events of a remote log that are held for those who follow it; who falls further behind reads the log. */
  tailEvents: 4_000,

  barsPerPage: 5_000,
  /** Questions for bars that wait for the market, how many one address may have, and how long one may keep others waiting. */
  barsWaiting: 16,
  barsPerAddress: 4,
  barsHeldMs: 5_000,
  manifestCharacters: 20_000,
  /** Keys that sign a checkpoint at once: two, and two more while they are replaced. */
  logKeys: 8,
  /** A checkpoint with its signatures; verifiers take at least 16, of up to 5 kB. */
  noteCharacters: 160_000,

  projectionBatchEvents: 2_000,
  rowsPerPage: 1_000,

  /** Encoded size of one bus message; nats-server's default is 1 MiB. */
  busMessageBytes: 1_000_000,
  busInFlight: 256,
  cacheKeyCharacters: 512,
  cacheEntries: 100_000,

  /** Verdicts in one answer of the replay route; the next page starts at its last position. */
  replayEvents: 1_000_000,
  verdictStreams: 100,
  verdictStreamsPerAddress: 10,
  verdictReplays: 50,
  verdictReplaysPerAddress: 4,
  /** How long a replay has its thread before others have it, and how long where that thread answers calls too. */
  replayTurnMs: 10,
  sharedTurnMs: 2,
  /** Events that a replay looks at before its first verdict; then it ends and says where to go on. */
  replaySearchEvents: 5_000_000,
  /** One place in so many is kept for addresses that hold none. */
  placesKeptShare: 5,
  /** How often a stream without news says that it is there. */
  heartbeatMs: 15_000,
  /** Body of an HTTP request, unless a route says less. */
  requestBodyBytes: 65_536,
  requestUrlCharacters: 4_096,
  requestHeaderBytes: 16_384,
  /** How long a request may take to arrive whole, and of that its headers. */
  requestArrivalMs: 30_000,
  requestHeadersMs: 15_000,
  /** Connections of one process; a proxy in front limits those of one address. */
  connections: 4_096,
  /** How long a connection may be idle between two requests: longer than balancers keep theirs, which is a minute. */
  connectionIdleMs: 72_000,
  /** How long nothing at all may come or go on a connection, an answer being made included. */
  connectionSilentMs: 90_000,
  /** How long the findings of `/readyz` are cached, so that frequent polls ask no other server. */
  readinessKeptMs: 1_000,
  /** How often connections are looked at. */
  connectionLookMs: 5_000,
  /** How slow the reader of a replay may be before a newcomer gets its place, if all are taken. */
  givesWayMs: 5_000,
  /** How long a request that is still arriving holds up a shutdown. */
  arrivalGraceMs: 1_000,
  ratePerSecond: 1_000_000,
  /** How long a request waits for the shared count of its rate; past it this process counts alone. */
  rateWaitMs: 50,
  proxyHops: 10,
  proxyNetworks: 100,
  marketRows: 200,
  trackRecordRows: 200,
  trackRecordMonths: 1_000,
  boardRows: 5_000,
  historyRows: 300,
  /** Pages that are made at a time, that wait to be made, and how many one address may have of both. */
  pagesAtOnce: 2,
  pagesWaiting: 100,
  pagesPerAddress: 20,
  /** How long a page may hold its place; the next one has it then, and this one is made without. */
  pageHeldMs: 2_000,
  /** Pages of the board, and small lines of its rows, that one process keeps drawn. */
  boardPages: 50,
  boardSparks: 5_000,
  filterValues: 100,

  /** Debits of one payer that wait for the log; past it callers are refused. */
  debitsWaiting: 2_048,
  /** How long a request waits for a log that takes nothing; nothing was recorded then. */
  appendWaitMs: 2_000,
  /** How long it waits to learn whether an append happened that the log did not confirm. */
  appendSettleMs: 15_000,
  payersKept: 5_000,
  /** Idempotency keys of one payer that are kept in memory; a read model knows them all. */
  idempotencyKeysKept: 1_024,
  idempotencyKeyCharacters: 255,
  /** How long a call with a new idempotency key waits for that read model to reach the end of the log. */
  debitIndexWaitMs: 2_000,
  usageRows: 200,
  usageDays: 62,

  /** Calls without a key in a day from one IPv6 site (/48), however many networks of it they come from. */
  anonymousCallsPerSite: 1_000,

  /** Longest e-mail address (RFC 5321 §4.5.3.1.3, less the brackets). */
  emailCharacters: 254,
  /** How long a sign-in code is good for, and its length: ten of 32 characters are 50 bits. */
  signInCodeMs: 1_800_000,
  signInCodeCharacters: 10,
  signInsOpen: 16,
  /** Codes sent to one mailbox in a window that is half as long as they are good for: who gets none has one. */
  signInsPerMailbox: 3,
  signInMailboxMs: 900_000,
  /** Codes sent in a day to one mailbox whose address has no account. */
  signInsPerStranger: 10,
  /** Codes sent to one mailbox for one client address in an hour. */
  signInsPerMailboxAndAddress: 5,
  /** Sign-in mails in an hour; past it only those with an account are sent one, up to twice as many. */
  signInMailsPerHour: 1_000,
  /** Codes asked for, and codes given, from one client address (IPv6: one /48) in an hour. */
  signInsPerAddress: 20,
  signInTriesPerAddress: 60,
  mailsUnderWay: 256,
  /** How long one try to send a mail may take, how many there are, and how long a sign-in waits for them. */
  mailSendMs: 10_000,
  mailTries: 3,
  mailWaitMs: 5_000,
  keysPerAccount: 10,
  sessionMs: 7 * 86_400_000,
  /** In an hour: events of one kind of an account, and changes of one subscription. */
  accountEventsPerHour: 30,
  subscriptionChangesPerHour: 30,
  appsPerAccount: 20,
  /** How long a code of OAuth, an access token, and a refresh token that is not used are good for; a registration as long. */
  oauthCodeMs: 60_000,
  accessTokenMs: 3_600_000,
  refreshTokenMs: 30 * 86_400_000,
  /** The document by which a client describes itself: its size, its addresses, and how long it is waited for. */
  clientDocumentBytes: 10_240,
  clientDocumentMs: 2_000,
  clientRedirects: 32,
  clientNameCharacters: 100,
  /** Longest id of a client that registered itself: its name and its addresses are in it. */
  registeredClientCharacters: 1_500,
  /** Longest address of a client or of what it redirects to, and longest `state`. */
  oauthUrlCharacters: 2_000,
  oauthStateCharacters: 2_048,
  /** How long such a document is kept, at least and at most, and how long it is remembered that one cannot be used. */
  clientDocumentKeepLeastMs: 60_000,
  clientDocumentKeepMs: 86_400_000,
  clientDocumentFailedMs: 30_000,
  /** Documents that are kept of programs that act for somebody, and as many of others. */
  clientDocumentsKept: 500,
  /** Documents that are fetched at a time, of those from one host; that wait, of those for one address; and in an hour. */
  clientDocumentsAtOnce: 8,
  clientDocumentsPerHost: 2,
  clientDocumentsWaiting: 100,
  clientDocumentsWaitingPerAddress: 4,
  clientDocumentsPerAddress: 60,
  keyLabelCharacters: 64,
  /** Plans of one account that have not ended: the running one and those after it. */
  plansAhead: 12,
  accountsKept: 5_000,
  /** Keys that one process remembers the account of, and for how long without asking again. */
  identitiesKept: 20_000,
  identityMs: 5_000,
  /** How long the account of a key waits for its read model to reach what this process appended. */
  accountIndexWaitMs: 2_000,
  accountRows: 100,

  /** A payment header, as it was sent. */
  paymentHeaderBytes: 16_384,
  /** How long an offer can be paid for, and what of that must be left when it is. */
  paymentValidityS: 300,
  paymentValidityLeastS: 60,
  /** The longest validity taken: a claim is watched until it ends. Clients may sign twice what an offer says. */
  paymentValidityMostS: 600,
  /** The same for authorizations of the gateway rail, which must be valid for a week at least. */
  gatewayValidityS: 604_900,
  gatewayValidityLeastS: 604_800,
  gatewayValidityMostS: 2_592_000,
  /** How long a request waits for a settlement that comes before its answer. */
  settlementWaitMs: 20_000,
  settlementReasons: 16,
  /** Seconds of block time after the end of an authorization before it is reported as unused: nodes may lag. */
  paymentExpiryGraceS: 60,
  /** How long a payment that could be settled may wait before the service says that it is not well. */
  settlementLateMs: 60_000,
  /** Wait before a settlement is tried again; it doubles from try to try, up to the longest. */
  settlementRetryMs: 1_000,
  settlementRetryMaxMs: 60_000,
  chainRequestMs: 10_000,
  /** Blocks searched for logs in one request, and such requests of one search. */
  chainLogBlocks: 1_000,
  chainLogRanges: 200,
  /** How long a transaction that a facilitator named is waited for before the facilitator is asked again. */
  settlementPendingMs: 30_000,
  /** Payments of one rail that are settled at a time, and how much of a facilitator's answer is read. */
  settlementsAtOnce: 16,
  facilitatorAnswerBytes: 65_536,
  /** How long after the end of an authorization a facilitator may still tell what became of it. */
  facilitatorGraceMs: 60_000,
  /** How long what a node said of a payer is remembered: its balance, and whether it is a contract. */
  payerBalanceMs: 5_000,
  payerCodeMs: 600_000,
  /** How long a facilitator's refusal of a payer is remembered. */
  payerRefusedMs: 5_000,
  /** Payers that a node or a facilitator is asked about at a time; past it callers are asked to try again. */
  payersAskedAtOnce: 64,
  payersRemembered: 20_000,
  /**
   * Payments of a rail that one process checks and computes answers for at a time: in all, of one payer, from one
   * address; past it callers are asked to try again.
   */
  paymentsAtOnce: 1_024,
  paymentsAtOncePerPayer: 128,
  paymentsAtOncePerAddress: 256,
  /** Requests that wait in one process for their money: in all, of one payer, from one address. */
  settlementsAwaited: 1_024,
  settlementsAwaitedPerPayer: 16,
  settlementsAwaitedPerAddress: 64,
  /** Claims of a rail that are settled before they are answered, and are not settled: in all, and of one payer. */
  claimsWaiting: 1_024,
  claimsWaitingPerPayer: 16,
  /** Payments from one address that are refused within a time; past it none is looked at until that is over. */
  paymentsRefusedPerAddress: 60,
  paymentsRefusedMs: 60_000,
  paymentsRefusedAddresses: 20_000,
  paymentRows: 100,

  subscriptionAssets: 200,
  subscriptionsOnFree: 5,
  subscriptionsOnPaid: 50,
  subscriptionsKept: 20_000,
  /** Subscriptions of which one process remembers how their deliveries stand, for who asks again. */
  webhookDeliveriesKnown: 2_000,
  /** Filters that one subscription may have had: each stays, for the signals of its time. */
  subscriptionFilters: 500,
  /** How long a slot may stand without its subscription before it is taken for one that a crash left behind. */
  subscriptionSlotIdleMs: 60_000,
  /** How far back a subscription may start, or be resumed from. */
  webhookPastMs: 30 * 86_400_000,
  /** Events that are read to find an instant, over a store that has no order of numbers: some seconds. */
  webhookPastEvents: 100_000,
  /** Endpoints whose address and secrets one process remembers, and for how long. */
  webhookTargetsKept: 20_000,
  webhookTargetMs: 30_000,
  noticeMailsPerHour: 12,
  webhookUrlCharacters: 2_048,
  /** Connecting to an endpoint, and one attempt in all, its answer included. */
  webhookConnectMs: 5_000,
  webhookAttemptMs: 15_000,
  /** How much of an endpoint's answer is read, and how much of that is kept. */
  webhookResponseBytes: 16_384,
  webhookResponseKeptBytes: 1_024,
  /** Characters of it that are kept, sealed. */
  webhookSealedAnswerCharacters: 2_048,
  webhookResponseHeaderBytes: 16_384,
  /** Longest `Retry-After` that is believed: four times the longest step between two attempts. */
  webhookRetryAfterMs: 345_600_000,
  /** Origins to which connections are kept, connections to one of them, and to all before some are closed. */
  webhookOrigins: 2_048,
  webhookConnectionsPerOrigin: 32,
  webhookConnections: 4_096,
  /** How long an idle connection is kept: where its receiver names no time, and at most where it names one. */
  webhookIdleMs: 90_000,
  webhookIdleMostMs: 600_000,
  webhookAttemptsAtOnce: 256,
  webhookAttemptsPerEndpoint: 4,
  webhookPerSecond: 100,
  webhookBodyBytes: 65_536,
  /** After the beginning of a digest's period, how long the verdicts of its bars are given; market time. */
  digestSettleMs: 20_000,
  /** How long the old secret signs beside the new one, unless the owner says otherwise, and at most. */
  secretOverlapMs: 86_400_000,
  secretOverlapMaxMs: 604_800_000,
  /** Secrets that sign one delivery: the newest, and older ones whose overlap has not ended. */
  webhookSecretsSigning: 10,
  /** POSTs of a free account in a minute, and in a UTC day, tests included; paid plans have more by `PLAN_LIMITS`. */
  webhookPostsPerMinute: 120,
  webhookPostsPerDay: 3_000,
  /** POSTs of all free accounts together to one host in a minute. */
  webhookPostsPerHost: 600,
  /** Test deliveries of one account in a minute, and in a day; and subscriptions that it may create in an hour. */
  webhookTestsPerMinute: 10,
  webhookTestsPerDay: 100,
  webhookCreationsPerHour: 100,
  /** Tests and new subscriptions at one host in a minute, over all accounts. */
  webhookUnaskedPerHost: 60,
  /** Deliveries of one subscription that wait for another try; past it nothing new is taken up. */
  webhookOpenDeliveries: 1_000,
  /** The newest signals, which a dispatcher keeps in memory; older ones are read from the log. */
  webhookSignalsKept: 10_000,
  /** How long attempts of one busy endpoint are gathered to be recorded together. */
  webhookRecordMs: 25,
  webhookAttemptsPerEvent: 128,
  publicUrlCharacters: 256,
  /** Events of a delivery log that one question looks through. */
  webhookScanEvents: 20_000,
  /** The same for one page of attempts: the next goes on, so that other accounts come in between. */
  webhookListEvents: 3_000,
  /** Series whose newest call is remembered for subscriptions to changes. */
  webhookSeriesRemembered: 100_000,
  webhookRows: 100,

  searchCharacters: 500,
  searchCharactersLeast: 3,
  searchRows: 50,
  questionCharacters: 500,
  questionCharactersLeast: 5,
  searchTerms: 32,
  excerptCharacters: 320,
  /** Length of an answer to a question, and its encoded size in the log with its citations. */
  chatAnswerCharacters: 4_600,
  chatAnswerBytes: 32_768,
  chatExtractCharacters: 2_200,
  chatPassages: 6,
  /** How long a model may take in all, and how much of its answer is read. */
  chatModelMs: 20_000,
  chatModelBytes: 262_144,
  /** Most tokens that one answer of a model may cost, as the model counts them. */
  chatModelTokens: 2_000,
  /** Questions that one process has a model answer at a time; the others are answered extractively. */
  chatModelAtOnce: 8,
  docsPages: 500,
  docsPageBytes: 1_048_576,

  /** Processes that share a group of work, and the numbered shards it has at most. */
  leaseHolders: 64,
  leaseShards: 256,
  leaseNameCharacters: 64,
  /** How long a process has its shards after it last said that it is there, and how often it says so. */
  leaseTtlMs: 6_000,
  leaseRenewMs: 2_500,
  /** How long other processes wait beyond that before they take the shards of a silent one. */
  leaseGraceMs: 1_000,

  /** How long a shutdown may take before what is left is cut. */
  shutdownMs: 10_000,
} as const
