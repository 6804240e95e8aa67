// What the measuring script asks of the harness: a line `method key=value ...`; and the JSON it is answered with.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reverie::bench {

struct Request {
  std::string method;
  std::map<std::string, std::string> values;

  /** The value of a key. Throws std::invalid_argument where it is missing and there is no fallback. */
  std::string text(const std::string& key) const;
  std::string text(const std::string& key, const std::string& fallback) const;
  long integer(const std::string& key) const;
  long integer(const std::string& key, long fallback) const;
};

/** Throws std::invalid_argument for words that are no `key=value`. */
Request parseRequest(const std::string& line);

std::string quoted(const std::string& text);

/** One JSON object, its keys in the order they were put. */
class JsonObject {
 public:
  JsonObject& put(const std::string& key, const std::string& text);
  JsonObject& put(const std::string& key, double number);
  JsonObject& put(const std::string& key, const std::vector<double>& numbers);
  JsonObject& put(const std::string& key, bool value);
  /** `json` as it is. */
  JsonObject& putJson(const std::string& key, const std::string& json);
  std::string text() const { return "{" + inside_ + "}"; }

 private:
  std::string inside_;
};

}  // namespace reverie::bench
