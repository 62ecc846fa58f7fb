/** Lines of the help of each command that runs over a store. */
export const STORE_HELP = `  --store-node C   starts three nodes of a real store, each by this command, and starts each again that ends: {port} is
                   for callers; the other nodes reach it at {gossip}, and where it listens at {replication} at
                   {advertised}; {others} are their addresses, and {folder} is where it keeps its events
  EVENTSTORE_URL   an empty store to run over, with STORE_NODES=port:pidfile,… of nodes that somebody else starts again

Over a double of EventStoreDB where no store is named.`
