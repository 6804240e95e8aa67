// Work that a promise is for: done on a thread of libuv's pool, while the arrays it reads and writes are kept alive.
#pragma once

#include <napi.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace reverie::border {

/** Why work failed: what the caller can do about it (`kind`), in which words, and with which number of the driver. */
struct Failure {
  std::string kind;
  std::string message;
  int driverCode = 0;
};

class Work : public Napi::AsyncWorker {
 public:
  using Job = std::function<void()>;
  using Result = std::function<Napi::Value(Napi::Env)>;

  /** Begins `job` and answers the promise of `result`, which is called on the caller's thread once the job is done. */
  static Napi::Promise begin(Napi::Env env, Job job, Result result, const std::vector<Napi::Value>& kept = {});

 protected:
  void Execute() override;
  void OnOK() override;
  void OnError(const Napi::Error& error) override;

 private:
  Work(Napi::Env env, Job job, Result result);

  Napi::Promise::Deferred deferred_;
  Job job_;
  Result result_;
  Failure failure_;
  std::vector<Napi::ObjectReference> kept_;
};

/** Thrown by a job for a device that cannot be had at all. */
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace reverie::border
