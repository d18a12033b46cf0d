// Limits of the HTTP server and client. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- HTTP server

/// Bytes of a request line and its header fields. Browsers send a few KiB; other servers accept 8 to 16 KiB.
/// Reached: 431, and the connection is closed. Figure: none: ServerFigures::refused_requests counts it, and no command shows it yet. Test:
/// `RequestParser.AHeaderOfTheLimitIsReadAndALongerOneIsRefused`.
inline constexpr std::size_t kHttpHeaderBytes = 16 * 1024;

/// Header fields of a request. Each costs two strings, so many short fields use several times their bytes.
/// Reached: 431, and the connection is closed. Figure: none: ServerFigures::refused_requests counts it, and no command shows it yet. Test:
/// `RequestParser.AsManyFieldsAsTheLimitAreReadAndOneMoreIsRefused`.
inline constexpr std::size_t kHttpFields = 100;

/// Bytes of the line before a chunk: its size and extensions, which the parser ignores.
/// Reached: 400, and the connection is closed. Figure: none: ServerFigures::refused_requests counts it, and no command shows it yet. Test:
/// `RequestParser.AChunkLineOfTheLimitIsReadAndALongerOneIsRefused`.
inline constexpr std::size_t kHttpChunkLine = 256;

/// Bytes of a request's body on a route for which ServerOptions::body_limit sets no other limit.
/// Reached: 413, and the connection is closed. Figure: none: ServerFigures::refused_requests counts it, and no command shows it yet. Test:
/// `HttpServer.ABodyAboveTheLimitOfItsRouteIsRefused`.
inline constexpr std::size_t kHttpBodyBytes = 64 * 1024;

/// Connections of the server. A descriptor each, and about 1 KiB while idle, 15 KiB with TLS. The usual soft limit of a process is 1,024
/// descriptors. Reached: a new connection replaces the one that has been idle longest. If more connections have sent a part of a request
/// than are idle, it replaces the oldest such connection of the address, or of the IPv6 /64, that has the most. If each has a whole
/// request, the new one is closed. Figure: none: no command shows it, only /metrics:
/// rondo_http_connections_displaced_total. Test:
/// `HttpServer.TheOldestIdleConnectionGivesWay`, `HttpServer.AConnectionAboveTheLimitIsClosedWhileAllAreInUse`,
/// `HttpServer.AStormOfIdleConnectionsGivesWayToANewClient`, `HttpServer.HalfRequestsOfOneAddressGiveWayToClientsOfAnother`.
inline constexpr std::size_t kHttpConnections = 768;

/// Bytes that all connections together hold: requests that are not answered yet, and answers that are not sent yet. Each connection has
/// kHttpOwnBytes outside of it. Reached: a request or an answer that needs more gets 503, and its connection is closed. Figure: none:
/// ServerFigures::without_memory counts it, and no command shows it yet. Test: `HttpServer.TheMemoryOfAllConnectionsIsBounded`,
/// `HttpServer.ARequestThatItsHandlerHasCountsUntilItIsAnswered`.
inline constexpr std::size_t kHttpMemory = std::size_t{64} * 1024 * 1024;

/// Bytes of answers that are not sent yet to callers that need not sign in, beside kHttpMemory: more than 80 times the console's largest
/// file. Callers that ask for them and do not read keep each other from such answers, and nobody else. Reached: as kHttpMemory. Figure:
/// none: ServerFigures::without_memory counts it, and no command shows it yet. Test: `HttpServer.AnswersToStrangersLeaveTheMemoryOfOthers`.
inline constexpr std::size_t kHttpPublicMemory = std::size_t{16} * 1024 * 1024;

/// Bytes that a connection may hold whatever the others hold, so that requests of usual size are always read.
/// Reached: further bytes count against kHttpMemory. Figure: none: it is a part of that limit. Test:
/// `HttpServer.TheMemoryOfAllConnectionsIsBounded`.
inline constexpr std::size_t kHttpOwnBytes = 64 * 1024;

/// From the first byte of a request to the end of its header. A TLS handshake has as long.
/// Reached: 408, and the connection is closed, which is all in a handshake. Figure: none: ServerFigures::slow_requests counts it, and no
/// command shows it yet. Test: `HttpServer.AHeaderThatTakesTooLongIsRefused`, `HttpTls.AHandshakeThatTakesTooLongIsClosed`.
inline constexpr Duration kHttpHeaderTime = 10s;

/// From the end of the header to the end of the body.
/// Reached: 408, and the connection is closed. Figure: none: ServerFigures::slow_requests counts it, and no command shows it yet. Test:
/// `HttpServer.ABodyThatTakesTooLongIsRefused`.
inline constexpr Duration kHttpBodyTime = 30s;

/// How long a connection may be without a request. Executors of other projects expect 90 s.
/// Reached: the connection is closed. Figure: none: ServerFigures::idle_closed counts it, and no command shows it yet. Test:
/// `HttpServer.AnIdleConnectionIsClosed`.
inline constexpr Duration kHttpIdleTime = 90s;

/// How long a client may take no byte of its answer.
/// Reached: the connection is closed. Figure: none: ServerFigures::slow_readers counts it, and no command shows it yet. Test:
/// `HttpServer.AClientThatDoesNotReadItsAnswerIsClosed`.
inline constexpr Duration kHttpStallTime = 30s;

/// How long a client may take to read an answer, even if it takes some bytes now and then.
/// Reached: the connection is closed. Figure: none: ServerFigures::slow_readers counts it, and no command shows it yet. Test:
/// `HttpServer.AClientThatReadsItsAnswerTooSlowlyIsClosed`.
inline constexpr Duration kHttpAnswerTime = 300s;

/// How long the server reads and drops what a client still sends after the last answer. Without it the kernel would reset the connection,
/// and the client could lose the answer.
/// Reached: the connection is closed. Figure: none: the answer was sent. Test: `HttpServer.AClientThatSendsOnAfterARefusalIsClosed`.
inline constexpr Duration kHttpLingerTime = 2s;

/// Bytes that a relay holds in each direction, while the side that gets them takes none.
/// Reached: the other side is not read. Figure: none: a relay of usual peers holds none. Test:
/// `HttpRelay.ASideThatTakesNothingStopsTheOtherSide`.
inline constexpr std::size_t kHttpRelayBytes = std::size_t{64} * 1024;

/// How long a relay of converted bytes sends nothing. Proxies close connections that are silent for 30 s or longer.
/// Reached: the client gets a comment. Figure: none: it is a time. Test: `HttpRelay.ASilentStreamOfEventsBeats`.
inline constexpr Duration kHttpRelayBeat = 15s;

/// How long an answer of another side may take: Answer::ask().
/// Reached: the response that the handler gave for this, with the status 504. Figure: none: the client gets it. Test:
/// `HttpAsk.AnAnswerThatDoesNotComeIs504`.
inline constexpr Duration kHttpAskTime = 60s;

// --- HTTP client

/// Requests of the client that are under way, to all hosts. A descriptor each.
/// Reached: a request waits in the queue. Figure: none: ClientFigures::waiting shows it, and no command shows it yet. Test:
/// `HttpClient.NoMoreRequestsThanTheLimitAreUnderWay`.
inline constexpr std::size_t kHttpCalls = 64;

/// The same to one host and port.
/// Reached: a request waits in the queue. Figure: none: ClientFigures::waiting shows it, and no command shows it yet. Test:
/// `HttpClient.NoMoreRequestsThanTheLimitAreUnderWayToOneHost`.
inline constexpr std::size_t kHttpCallsPerHost = 8;

/// Requests of the client that wait for others.
/// Reached: post() returns ResourceExhausted. Figure: none: ClientFigures::refused counts it, and no command shows it yet. Test:
/// `HttpClient.AFullQueueRefusesFurtherRequests`.
inline constexpr std::size_t kHttpQueue = 4096;

/// Bytes of an answer's body for which ClientRequest::answer_bytes sets no other limit. Answers wait for their receiver, up to kHttpQueue.
/// Reached: ResourceExhausted; the connection is closed. Figure: none: the caller gets the error. Test:
/// `HttpClient.AnAnswerAboveTheLimitIsRefused`.
inline constexpr std::size_t kHttpAnswerBytes = std::size_t{64} * 1024;

/// Hosts of which the client counts failures. A host without requests is forgotten when there is no room.
/// Reached: the client forgets the failures of all hosts without requests. Figure: none: a forgotten host gets one more request. Test:
/// `HttpClient.HostsAboveTheLimitAreForgotten`.
inline constexpr std::size_t kHttpHosts = 4096;

/// Failures in a row after which the client sends no further request to a host for a while.
/// Reached: requests to the host get Unavailable immediately. Figure: none: ClientFigures::broken counts them, and no command shows it yet.
/// Test: `HttpBreaker.OpensAfterTheLimitOfFailuresInARow`.
inline constexpr unsigned kHttpFailures = 5;

/// The longest time without a request to a host that fails. The first is ClientOptions::first_break, and each failed probe doubles it.
/// Reached: the time does not grow. Figure: none: it is a time. Test: `HttpBreaker.ThePauseDoublesUpToTheLimit`.
inline constexpr Duration kHttpBreakTime = 30s;

// --- HTTP thread

/// Requests of clients that the home thread has and has not answered.
/// Reached: a further one gets 503. Figure: none: HttpThreadFigures::refused_forwards counts it, and no command shows it yet. Test:
/// `HttpThreadTest.MoreRequestsThanTheHomeThreadMayHaveGet503`.
inline constexpr std::size_t kHttpForwards = 1024;

/// Requests of the home thread to other hosts that have no answer yet. The client holds as many.
/// Reached: call() returns ResourceExhausted. Figure: none: the caller gets the error. Test:
/// `HttpThreadTest.MoreCallsThanTheLimitAreRefused`.
inline constexpr std::size_t kHttpHomeCalls = kHttpQueue + kHttpCalls;

/// Functions that wait for the HTTP thread, and as many that wait for the home thread.
/// Reached: post() returns ResourceExhausted. Figure: none: the caller gets the error. Test:
/// `HttpThreadTest.MoreFunctionsThanTheLimitAreRefused`.
inline constexpr std::size_t kHttpPosts = 1024;

/// How long the HTTP thread may take to send its last answers when it stops.
/// Reached: connections and calls that are open are ended. Figure: none: the program ends. Test:
/// `HttpThreadTest.AStopDoesNotWaitForAClientThatDoesNotRead`.
inline constexpr Duration kHttpDrainTime = 1s;

}  // namespace rondo::limits
