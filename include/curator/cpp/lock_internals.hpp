/* Drivers, which decide who holds a lock. */
#pragma once

#include <curator/cpp/handle.hpp>
#include <curator/lock_internals.h>

CURATOR_CPP_BEGIN

/** How a node is created: CuratorCreateMode. */
enum class create_mode
{
  persistent = CURATOR_CREATE_MODE_PERSISTENT,
  persistent_sequential = CURATOR_CREATE_MODE_PERSISTENT_SEQUENTIAL,
  ephemeral = CURATOR_CREATE_MODE_EPHEMERAL,
  ephemeral_sequential = CURATOR_CREATE_MODE_EPHEMERAL_SEQUENTIAL
};

/** The node that an attempt creates, for a driver to describe. Valid only during the call. */
class node_request
{
public:
  /** Wraps the request of a C driver; borrowed. */
  explicit node_request (CuratorNodeRequest *request) : request_ (detail::require (request)) {}

  /** The name so far: at first the lock's name. */
  std::string name () const { return curator_node_request_get_name (request_); }

  /** Sets the name. */
  result<void> set_name (const std::string &name)
  {
    return detail::call<void> (curator_node_request_set_name, request_, name);
  }

  /** Sets the mode; default: ephemeral and sequential. */
  void set_mode (create_mode mode)
  {
    curator_node_request_set_mode (request_, static_cast<CuratorCreateMode> (mode));
  }

  /** Sets the payload; default: the lock's. */
  void set_data (std::string_view data)
  {
    curator_node_request_set_data (request_, data.data (), data.size ());
  }

  /** Sets whether a unique prefix protects the node; default: true. */
  void set_protected (bool is_protected)
  {
    curator_node_request_set_protected (request_, is_protected);
  }

private:
  CuratorNodeRequest *request_;
};

/** What a driver decides about a node. */
struct predicate_results
{
  bool gets_the_lock = false; /**< whether the node holds the lock */
  /** Otherwise the child whose deletion to wait for; empty for any change of the children. */
  std::string path_to_watch{};
};

/** Members of a driver: CuratorLockDriverFuncs. One that is not set is the standard driver's. They
 *  may be called concurrently. */
struct lock_driver_functions
{
  /** Describes the node to create. After an exception the default is created. */
  std::function<void (node_request &)> creates_the_lock{};
  /** Called with the names of the children in order, the attempt's own name, and how many may hold
   *  at the same time. After an exception the node does not hold the lock. */
  std::function<predicate_results (const std::vector<std::string_view> &, std::string_view, guint)>
      gets_the_lock{};
  /** Called with a child's name and the lock's name; returns the end of the child's name to sort
   *  by. After an exception, and for anything but an end of that name, the child is foreign. */
  std::function<std::string_view (std::string_view, std::string_view)> fix_for_sorting{};
};

/** Decides who holds a lock, for recipes of your own. Wraps CuratorLockDriver; see
 *  lock_internals.h. */
class [[nodiscard]] lock_driver : public handle<lock_driver, CuratorLockDriver,
                                                curator_lock_driver_ref, curator_lock_driver_unref>
{
public:
  /** An empty handle. */
  lock_driver () noexcept = default;

  /** Creates a driver of these functions. */
  [[nodiscard]] explicit lock_driver (lock_driver_functions functions)
  {
    const CuratorLockDriverFuncs funcs = { functions.creates_the_lock ? creates_the_lock : nullptr,
                                           functions.gets_the_lock ? gets_the_lock : nullptr,
                                           functions.fix_for_sorting ? fix_for_sorting : nullptr,
                                           {} };
    auto *driver =
        detail::entrust (std::move (functions), [&] (gpointer kept, GDestroyNotify free) {
          return curator_lock_driver_new (&funcs, kept, free);
        });
    *this = lock_driver (detail::require (driver));
  }

  using handle::handle;

  /** Promises that no later node is granted before an earlier one:
   *  curator_lock_driver_set_nothing_overtakes(). Before the first lock uses the driver. */
  void set_nothing_overtakes (bool nothing_overtakes)
  {
    curator_lock_driver_set_nothing_overtakes (object (), nothing_overtakes);
  }

private:
  static void creates_the_lock (CuratorLockDriver *, CuratorNodeRequest *request,
                                gpointer data) noexcept
  {
    detail::shield ([&] {
      node_request described (request);
      static_cast<lock_driver_functions *> (data)->creates_the_lock (described);
    });
  }

  static void gets_the_lock (CuratorLockDriver *, const char *const *children, gsize n_children,
                             const char *sequence_node_name, guint max_leases,
                             CuratorPredicateResults *results, gpointer data) noexcept
  {
    detail::shield ([&] {
      /* C reads the name after the return. */
      static thread_local std::string to_watch;
      const std::vector<std::string_view> names (children, children + n_children);
      predicate_results decided = static_cast<lock_driver_functions *> (data)->gets_the_lock (
          names, sequence_node_name, max_leases);
      to_watch = std::move (decided.path_to_watch);
      if (!detail::is_for_c (to_watch)) {
        g_log ("curator", G_LOG_LEVEL_CRITICAL, "a callback returned a text with a NUL inside");
        to_watch.clear ();
      }
      results->gets_the_lock = decided.gets_the_lock;
      results->path_to_watch = to_watch.empty () ? nullptr : to_watch.c_str ();
    });
  }

  static const char *fix_for_sorting (CuratorLockDriver *, const char *name, const char *lock_name,
                                      gpointer data) noexcept
  {
    const char *key = name;
    detail::shield ([&] {
      const std::string_view whole (name);
      const std::string_view end =
          static_cast<lock_driver_functions *> (data)->fix_for_sorting (whole, lock_name);
      if (end.size () <= whole.size () && whole.substr (whole.size () - end.size ()) == end)
        key = name + (whole.size () - end.size ());
    });
    return key;
  }
};

CURATOR_CPP_END
